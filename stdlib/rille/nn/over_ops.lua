-- Makes modules without parameters, each a class over one op, from one line each: the op's name,
-- the options that may be given by position (the rest sit in the trailing table), `training` where
-- the op asks for the mode, `presets` of options.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local fail = require "rille.fail"
local module = require "rille.nn.module"

local function show(value)
  if type(value) == "table" then return "{" .. table.concat(value, ", ") .. "}" end
  return tostring(value)
end

-- What the ops of these modules say of their options, by name; read when one is first needed.
local fields = {}

local function fields_of(op)
  if not fields[op] then
    for _, told in ipairs(native.schema().ops) do
      if fields[told.name] == false then fields[told.name] = told.fields end
    end
  end
  return fields[op]
end

local function is_option(class, field)
  local fed = field.required and field.type:find("rille.Tensor", 1, true)
  return not fed and not (class.follows_mode and field.name == "training")
end

-- The types that an option of an op may have: where a list stands for the dims, one number does for
-- all of them.
local function type_of(field)
  local item = field.type:match "^(%a+)%[%]$"
  return item and field.type .. "|" .. item or field.type
end

-- Options are refused where the module is made, not where it is first called.
local function check_options(self, options)
  local names, known = {}, {}
  for _, field in ipairs(fields_of(self.op)) do
    if is_option(self, field) then
      names[#names + 1], known[field.name] = field.name, field
    end
  end
  for name in pairs(options) do
    if not known[name] then fail.unknown(self.__name, "option", tostring(name), names) end
  end
  for _, name in ipairs(names) do
    local field = known[name]
    if options[name] ~= nil then
      check(self.__name, name, options[name], { type = type_of(field) })
    elseif field.required and self.by_place[name] then
      fail.argument(self.__name, "'%s' is missing", name)
    end
  end
end

-- Tensors among the options (weights of classes) are buffers: they move with the module and are
-- saved with it.
local function hold_tensors(self, options)
  local names = {}
  for name, value in pairs(options) do
    if native.is_tensor(value) then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do self:buffer(name, options[name]) end
  self.held = names[1] and names
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
  if #names > 0 or next(options) ~= nil then check_options(self, options) end
  self.options = options
  hold_tensors(self, options)
end

function Stateless:forward(...)
  local op, options = rille[self.op], self.options
  if self.held then
    for _, name in ipairs(self.held) do options[name] = self[name] end
  end
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
    class.op, class.follows_mode = line[1], line.training
    class.presets = native.shared(line.presets or {})
    local by_place = {}
    for i = 2, #line do by_place[line[i]] = true end
    class.positional = native.shared(table.move(line, 2, #line, 1, {}))
    class.by_place = native.shared(by_place)
    fields[class.op] = fields[class.op] or false
    classes[name] = class
  end
  return classes
end
