-- rille.recipe { ... }: a declared recipe, which a file returns and `rille run` carries out. From
-- another Lua recipe:run(arg) does that, and gives the status to exit with.
local native = require "rille.native"
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

-- What a recipe may hold, by type; `required` ones must be there.
local fields = {
  name = "string", args = "table", setup = "function", batches = "function", loss = "function",
  evaluate = "table", sample = "function", clip = "number", accumulate = "number", save = "table",
  log = "table", on = "table",
}
local required = { "name", "setup", "batches", "loss" }

local inner = {
  evaluate = { "every", "batches" }, save = { "every", "keep", "async", "on_error", "grace" },
  log = { "every" },
  on = { "step", "epoch", "evaluate", "save" },
}

local function keys_of(list)
  local names = {}
  for name in pairs(list) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function check_inner(name, given)
  local known = {}
  for _, key in ipairs(inner[name]) do known[key] = true end
  for key in pairs(given) do
    if not known[key] then fail.unknown("recipe", "field of " .. name, key, inner[name]) end
  end
  local keep = name == "save" and given.keep
  if keep and (math.type(keep) ~= "integer" or keep < 2) then
    fail.argument("recipe", "save.keep must be 2 or more, so that a damaged one can be survived")
  end
  local policy = name == "save" and given.on_error
  if policy and policy ~= "stop" and policy ~= "continue" then
    fail.argument("recipe", "save.on_error must be 'stop' or 'continue', got %s", tostring(policy))
  end
  local grace = name == "save" and given.grace
  if grace and (type(grace) ~= "number" or not (grace > 0)) then
    fail.argument("recipe", "save.grace must be a number of seconds above 0, got %s",
      tostring(grace))
  end
end

-- `words` are flags as on the command line, `arg` unless they are given; words[0] is the file.
function Recipe:run(words)
  words = words or rawget(_G, "arg") or {}
  return require "rille.recipe.run"(self, words, words[0])
end

return function(given)
  if type(given) ~= "table" then fail.type("recipe", "the recipe", "a table", given) end
  for name, value in pairs(given) do
    local wanted = fields[name]
    if not wanted then fail.unknown("recipe", "field", name, keys_of(fields)) end
    if type(value) ~= wanted then fail.type("recipe", name, "a " .. wanted, value) end
    if inner[name] then check_inner(name, value) end
  end
  for _, name in ipairs(required) do
    if given[name] == nil then fail.argument("recipe", "'%s' is missing", name) end
  end
  settings.strict_by_default()
  return setmetatable({ fields = given }, Recipe)
end
