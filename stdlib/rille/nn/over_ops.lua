-- Makes modules without parameters, each a class over one op, from one line each: the op's name,
-- the options that may be given by position (the rest sit in the trailing table), `training` where
-- the op asks for the mode, `presets` of options.
local rille = require "rille"
local fail = require "rille.fail"
local module = require "rille.nn.module"

local function show(value)
  if type(value) == "table" then return "{" .. table.concat(value, ", ") .. "}" end
  return tostring(value)
end

local Stateless = module.define "Stateless"

function Stateless:init(...)
  local options, given = {}, table.pack(...)
  local last = given[given.n]
  if type(last) == "table" and #last == 0 then
    for name, value in pairs(last) do options[name] = value end
    given.n = given.n - 1
  end
  local names = self.positional
  if given.n > #names then
    fail.argument(self.__name, "takes %d arguments, got %d", #names, given.n)
  end
  for i = 1, given.n do options[names[i]] = given[i] end
  for name, value in pairs(self.presets) do
    if options[name] == nil then options[name] = value end
  end
  self.options = options
end

function Stateless:forward(...)
  local op, options = rille[self.op], self.options
  if self.follows_mode then
    options.training = self.training
  elseif next(options) == nil then
    return op(...)
  end
  local arguments = table.pack(...)
  arguments[arguments.n + 1] = options
  return op(table.unpack(arguments, 1, arguments.n + 1))
end

function Stateless:describe()
  local parts = {}
  for name, value in pairs(self.options) do
    if name ~= "training" then parts[#parts + 1] = name .. "=" .. show(value) end
  end
  table.sort(parts)
  return table.concat(parts, ", ")
end

return function(lines)
  local classes = {}
  for name, line in pairs(lines) do
    local class = module.define(name, Stateless)
    class.op, class.follows_mode, class.presets = line[1], line.training, line.presets or {}
    class.positional = table.move(line, 2, #line, 1, {})
    classes[name] = class
  end
  return classes
end
