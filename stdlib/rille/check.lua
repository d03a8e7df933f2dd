-- Whether a value is what a declaration says: check(op, name, value, rule) raises where it isn't,
-- and returns it, 3.0 as 3 where an integer is wanted. A rule may hold type (as LuaCATS writes
-- types: "integer|false", '"min"|"max"'), min, max, above and below. Tensors, modules and
-- optimizers are known by their names (rille.Tensor); what names another class is taken on trust.
local native = require "rille.native"
local fail = require "rille.fail"

local function callable(value)
  local meta = getmetatable(value)
  return type(value) == "function" or type(meta) == "table" and rawget(meta, "__call") ~= nil
end

-- By word: the name in a message, and the judge.
local kinds = {
  number = { "a number", function(v) return type(v) == "number" end },
  integer = {
    "an integer", function(v) return type(v) == "number" and math.tointeger(v) ~= nil end,
  },
  boolean = { "a boolean", function(v) return type(v) == "boolean" end },
  string = { "a string", function(v) return type(v) == "string" end },
  table = { "a table", function(v) return type(v) == "table" end },
  fun = { "a function", callable },
  ["rille.Tensor"] = { "a tensor", native.is_tensor },
  ["rille.nn.Module"] = {
    "a module", function(v) return require "rille.nn.module".is_module(v) end,
  },
  ["rille.optim.Optimizer"] = {
    "an optimizer",
    function(v) return type(v) == "table" and type(rawget(v, "groups")) == "table" end,
  },
  ["true"] = { "true", function(v) return v == true end },
  ["false"] = { "false", function(v) return v == false end },
}

local function kind_of(word)
  local literal = word:match '^"(.*)"$'
  if literal then return { "'" .. literal .. "'", function(v) return v == literal end } end
  local item = word:match "^(%a+)%[%]$"
  if item and kinds[item] then return { "a list", kinds.table[2] } end
  return kinds[word:match "^fun" or word]
end

local parsed = {}

-- The kinds of a type, or false where not all of its words are known.
local function kinds_of(text)
  if parsed[text] ~= nil then return parsed[text] end
  local list = {}
  local flat = text:gsub("%b()", function(part) return part:find "fun" and "fun" or "" end)
  for word in flat:gmatch "[^|]+" do
    local kind = kind_of(word)
    if not kind then
      list = false
      break
    end
    list[#list + 1] = kind
  end
  parsed[text] = list
  return list
end

-- "a, b or c"
local function spoken(list)
  local names = {}
  for i, kind in ipairs(list) do names[i] = kind[1] end
  local last = table.remove(names)
  return #names > 0 and table.concat(names, ", ") .. " or " .. last or last
end

local function check_type(op, name, value, text)
  local list = kinds_of(text)
  if not list then return end
  for _, kind in ipairs(list) do
    if kind[2](value) then return end
  end
  fail.type(op, name, spoken(list), value)
end

local function refuse(op, name, rule, bound, value)
  fail.argument(op, "'%s' must be %s %s, got %s", name, rule, tostring(bound), tostring(value))
end

-- Written so that nan is within no range.
local function check_range(op, name, value, rule)
  if rule.min and not (value >= rule.min) then refuse(op, name, "at least", rule.min, value) end
  if rule.max and not (value <= rule.max) then refuse(op, name, "at most", rule.max, value) end
  if rule.above and not (value > rule.above) then refuse(op, name, "above", rule.above, value) end
  if rule.below and not (value < rule.below) then refuse(op, name, "below", rule.below, value) end
end

return function(op, name, value, rule)
  local wanted = rule.type
  if wanted then check_type(op, name, value, wanted) end
  if type(value) ~= "number" then return value end
  check_range(op, name, value, rule)
  local whole = wanted and wanted:find "integer" and not wanted:find "number"
  return whole and math.tointeger(value) or value
end
