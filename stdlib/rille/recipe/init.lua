-- rille.recipe { ... }: a declared recipe, which a file returns and `rille run` carries out. From
-- another Lua recipe:run(arg) does that, and gives the status to exit with.
local native = require "rille.native"
local declared = require "rille.recipe.declared"
local fail = require "rille.fail"
local settings = require "rille.settings"

local Recipe = { __name = "rille.Recipe" }
Recipe.__index = function(self, key)
  if key == "run" then return Recipe.run end
  return rawget(self, "fields")[key]
end
Recipe.__tostring = function(self)
  return "recipe " .. native.shown(tostring(self.fields.name))
end

local function names_of(list)
  local names = {}
  for i, field in ipairs(list) do names[i] = field[1] end
  return names
end

local by_name = {}
for _, field in ipairs(declared) do by_name[field[1]] = field end

local function is_integer(value)
  return type(value) == "number" and math.tointeger(value) ~= nil
end

local function is_number(value)
  return type(value) == "number"
end

-- Fields by their dotted name: what they have to be, said and asked.
local values = {
  ["accumulate"] = { "an integer of 1 or more", is_integer, 1 },
  ["amp"] = { "'off', 'bf16', 'f16' or 'f8'", function(value)
    return value == "off" or value == "bf16" or value == "f16" or value == "f8"
  end },
  ["checkpoint_blocks"] = {
    "true, false, a policy, a budget or a table of options",
    function(value)
      local kind = type(value)
      return kind == "boolean" or kind == "string" or kind == "number" or kind == "table"
    end,
  },
  ["clip"] = { "a number of 0 or more", is_number, 0 },
  ["evaluate.every"] = { "an integer of 0 or more", is_integer, 0 },
  ["evaluate.batches"] = { "an integer of 1 or more", is_integer, 1 },
  ["save.every"] = { "an integer of 0 or more", is_integer, 0 },
  ["save.async"] = { "true or false", function(value) return type(value) == "boolean" end },
  ["log.every"] = { "an integer of 0 or more", is_integer, 0 },
  ["on_nonfinite"] = { "'error', 'skip' or 'warn'", function(value)
    return value == "error" or value == "skip" or value == "warn"
  end },
}
for _, name in ipairs(names_of(by_name.on.fields)) do
  values["on." .. name] = { "a function", function(value) return type(value) == "function" end }
end

local function check_value(name, value)
  local wanted = values[name]
  if not wanted or value == nil then return end
  local text, fits, least = table.unpack(wanted)
  if not fits(value) or least and not (value >= least) then
    fail.type("recipe", name, text, value)
  end
end

local function check_save(given)
  local keep, policy, grace = given.keep, given.on_error, given.grace
  if keep and (math.type(keep) ~= "integer" or keep < 2) then
    fail.argument("recipe", "save.keep must be 2 or more, so that a damaged one can be survived")
  end
  if policy and policy ~= "stop" and policy ~= "continue" then
    fail.argument("recipe", "save.on_error must be 'stop' or 'continue', got %s", tostring(policy))
  end
  if grace and (type(grace) ~= "number" or not (grace > 0)) then
    fail.argument("recipe", "save.grace must be a number of seconds above 0, got %s",
      tostring(grace))
  end
end

local function check_inner(name, given, fields)
  local known = {}
  for _, field in ipairs(fields) do known[field[1]] = true end
  for key, value in pairs(given) do
    if not known[key] then fail.unknown("recipe", "field of " .. name, key, names_of(fields)) end
    check_value(name .. "." .. key, value)
  end
  if name == "save" then check_save(given) end
end

-- `words` are flags as on the command line, `arg` unless they are given; words[0] is the file.
function Recipe:run(words)
  words = words or rawget(_G, "arg") or {}
  return require "rille.recipe.run"(self, words, words[0])
end

-- A declared recipe: what `rille run` carries out, with a run folder, checkpoints and flags.
return function(given)
  if type(given) ~= "table" then fail.type("recipe", "the recipe", "a table", given) end
  for name, value in pairs(given) do
    local field = by_name[name]
    if not field then
      local names = names_of(declared)
      table.sort(names)
      fail.unknown("recipe", "field", name, names)
    end
    if field.kind ~= "any" and type(value) ~= field.kind then
      fail.type("recipe", name, "a " .. field.kind, value)
    end
    check_value(name, value)
    if field.fields then check_inner(name, value, field.fields) end
  end
  for _, field in ipairs(declared) do
    local missing = field.required and given[field[1]] == nil
    if missing then fail.argument("recipe", "'%s' is missing", field[1]) end
  end
  settings.strict_by_default()
  return setmetatable({ fields = given }, Recipe)
end
