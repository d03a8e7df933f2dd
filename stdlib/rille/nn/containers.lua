-- Modules that hold modules. Members sit at integer keys, named from 1, so `list[i]`, `#list` and
-- `ipairs` are Lua's own.
local check = require "rille.check"
local fail = require "rille.fail"
local module = require "rille.nn.module"
local parameter = require "rille.parameter"

local List = module.define "List"

function List:check(value)
  if module.is_class(value) then
    fail.raise {
      kind = "argument", code = "E_TYPE", op = self.__name,
      message = ("'member' must be a module, got the %s"):format(value),
      hint = ("%s(...) makes one"):format(value.__name),
    }
  end
  if not module.is_module(value) then fail.type(self.__name, "member", "a module", value) end
  return value
end

--: ...: rille.nn.Module|rille.nn.Module[]
function List:init(...)
  local first = ...
  local members = { ... }
  local is_one = module.is_module(first) or module.is_class(first)
  if select("#", ...) == 1 and type(first) == "table" and not is_one then members = first end
  self:extend(members)
end

function List:append(value)
  self[#self + 1] = self:check(value)
  return self
end

-- A list, or another container of its kind.
function List:extend(values)
  if type(values) ~= "table" then fail.type(self.__name, "values", "a list", values) end
  for key in pairs(module.is_module(values) and {} or values) do
    if math.type(key) ~= "integer" or key < 1 or key > #values then
      fail.argument(self.__name, "takes its members in order, got one at '%s'", tostring(key))
    end
  end
  for _, value in ipairs(values) do self:append(value) end
  return self
end

function List:insert(place, value)
  check(self.__name .. ".insert", "place", place, { type = "integer", min = 1, max = #self + 1 })
  self:check(value)
  for i = #self, place, -1 do self[i + 1] = self[i] end
  self[place] = value
  return self
end

function List:remove(place)
  if place ~= nil then
    check(self.__name .. ".remove", "place", place, { type = "integer", min = 1, max = #self })
  end
  return table.remove(self, place)
end

local Sequential = module.define("Sequential", List)

function Sequential:forward(...)
  local count = #self
  if count == 0 then return ... end
  local x = self[1](...)
  for i = 2, count do x = self[i](x) end
  return x
end

local ModuleList = module.define("ModuleList", List)

local ParameterList = module.define("ParameterList", List)

--: value: rille.Tensor -> rille.Tensor
function ParameterList:check(value)
  return parameter.is(value) and value or parameter.new(value)
end

function ParameterList:describe()
  local lines = {}
  for i, t in ipairs(self) do
    lines[i] = ("(%d): %s[%s]"):format(i, t.dtype, table.concat(t:shape(), ", "))
  end
  return table.concat(lines, ", ")
end

-- Members by name; iterates in the order in which they were set.
local ModuleDict = module.define "ModuleDict"

--: members?: table<string, rille.nn.Module>
function ModuleDict:init(members)
  if members ~= nil then check("ModuleDict", "members", members, { type = "table" }) end
  local names = {}
  for name in pairs(members or {}) do
    names[#names + 1] = check("ModuleDict", "a name", name, { type = "string" })
  end
  table.sort(names)
  for _, name in ipairs(names) do self[name] = List.check(self, members[name]) end
end

function ModuleDict:__len()
  local count = 0
  for _ in self:named_children() do count = count + 1 end
  return count
end

return {
  Sequential = Sequential, ModuleList = ModuleList, ModuleDict = ModuleDict,
  ParameterList = ParameterList,
}
