-- Reads a trailing option table against a list of what is known: { { "lr", 0.001 }, { "seed" } }.
-- Returns a fresh table with the defaults filled in; an entry without a default is optional unless
-- it says `required = true`. An entry may hold a rule (rille.check); without a type in it a value
-- must be of its default's. Its `doc` is for those who read the declaration (rille.annotations).
local check = require "rille.check"
local fail = require "rille.fail"

local function show(value)
  if type(value) ~= "table" then return tostring(value) end
  local items = {}
  for i, item in ipairs(value) do items[i] = show(item) end
  return "{" .. table.concat(items, ", ") .. "}"
end

local function refuse(op, name, known)
  local names, takes = {}, {}
  for i, entry in ipairs(known) do
    names[i] = entry[1]
    takes[i] = entry[2] == nil and entry[1] or ("%s = %s"):format(entry[1], show(entry[2]))
  end
  fail.raise {
    kind = "argument", code = "E_OPTION", op = op,
    message = ("unknown option '%s'%s"):format(name, fail.suggestion(name, names)),
    facts = { "takes: " .. (#takes > 0 and table.concat(takes, ", ") or "no options") },
  }
end

-- A default that is a table is a fresh one for each caller.
local function own(default)
  if type(default) ~= "table" then return default end
  return table.move(default, 1, #default, 1, {})
end

local function rule_of(entry)
  if entry.type or entry[2] == nil then return entry end
  return setmetatable({ type = type(entry[2]) }, { __index = entry })
end

return function(op, given, known)
  if given == nil then given = {} end
  if type(given) ~= "table" then fail.type(op, "options", "a table", given) end
  local names, read = {}, {}
  for _, entry in ipairs(known) do names[entry[1]] = true end
  for name in pairs(given) do
    if not names[name] then refuse(op, tostring(name), known) end
  end
  for _, entry in ipairs(known) do
    local name = entry[1]
    local value = given[name]
    if value ~= nil then
      read[name] = check(op, name, value, rule_of(entry))
    elseif entry.required then
      fail.argument(op, "'%s' is missing", name)
    else
      read[name] = own(entry[2])
    end
  end
  return read
end
