-- The arguments of a run as its checkpoints keep them, and what has changed since.
local native = require "rille.native"

local arguments = {}

-- A run may be longer, elsewhere or on other threads and still be the same run.
local free = {
  steps = true, out = true, resume = true, force = true, strict = true, threads = true,
  eval_only = true, set = true, device = true,
}

-- Fields that --set may change, for they only say when something is written.
local free_fields = { "^save%.", "^log%." }

function arguments.plain(values)
  local copy = {}
  for name, value in next, values do copy[name] = value end
  return copy
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] then return false end
  end
  return true
end

local function show(value)
  if value == nil then return "nothing" end
  if type(value) ~= "table" then return native.shown(tostring(value)) end
  local parts = {}
  for i, part in ipairs(value) do parts[i] = native.shown(tostring(part)) end
  return table.concat(parts, ",")
end

-- What --set sets, by the dotted name.
local function settings_in(list)
  local fields = {}
  for _, text in ipairs(list or {}) do
    local name, value = text:match "^([^=]+)=(.*)$"
    local matters = name ~= nil
    for _, pattern in ipairs(free_fields) do
      if name and name:match(pattern) then matters = false end
    end
    if matters then fields["set " .. name] = value end
  end
  return fields
end

local function compare(before, now, skipped, lines)
  local names = {}
  for name in next, before do names[name] = true end
  for name in next, now do names[name] = true end
  for name in next, names do
    if not skipped[name] and not same(before[name], now[name]) then
      lines[#lines + 1] = ("--%s was %s, is %s"):format(native.shown((name:gsub("_", "-"))),
        show(before[name]), show(now[name]))
    end
  end
end

-- One line for each argument that differs and could change the result; `neutral` names those that
-- the recipe says can't.
function arguments.changes(before, now, neutral)
  local lines = {}
  compare(before, now, setmetatable({}, {
    __index = function(_, name) return free[name] or neutral[name] end,
  }), lines)
  compare(settings_in(before.set), settings_in(rawget(now, "set")), {}, lines)
  table.sort(lines)
  return lines
end

return arguments
