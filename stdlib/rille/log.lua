-- rille.log { loss = x }: values of the current step. In a recipe they go to its metrics;
-- elsewhere they are printed, one line a call. rille.log(x) of a tensor is the op of that name.
local native = require "rille.native"
local fail = require "rille.fail"
local progress = require "rille.progress"

local log = {}

-- The run that collects what is logged: an object with :log(values); set by the recipe's loop.
local run = nil

function log.attach(collector)
  run = collector
end

local function plain(name, value)
  if native.is_tensor(value) then return native.rehearsed() and 0 or value:item() end
  if type(value) ~= "number" then fail.type("log", name, "a number", value) end
  return value
end

local function show(value)
  return math.type(value) == "float" and ("%.6g"):format(value) or tostring(value)
end

local function write(_, values)
  local names, read = {}, {}
  for name, value in pairs(values) do names[#names + 1], read[name] = name, plain(name, value) end
  if native.rehearsed() then return end                  -- nothing is computed
  if run then return run:log(read) end
  table.sort(names)
  local parts = {}
  for i, name in ipairs(names) do parts[i] = native.shown(name .. " " .. show(read[name])) end
  local bar = progress.current()
  if bar then bar:hide() end
  print(table.concat(parts, "  "))
end

return setmetatable(log, { __call = write })
