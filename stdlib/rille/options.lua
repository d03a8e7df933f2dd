-- Reads a trailing option table against a list of what is known: { { "lr", 0.001 }, { "seed" } }.
-- Returns a fresh table with the defaults filled in; an entry without a default is optional. An
-- entry's `type`, `doc` and `required` are for those who read the declaration (rille.annotations).
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

local articles = {
  number = "a number", boolean = "a boolean", string = "a string", table = "a table",
}

return function(op, given, known)
  if given ~= nil and type(given) ~= "table" then fail.type(op, "options", "a table", given) end
  local kinds, read = {}, {}
  for _, entry in ipairs(known) do
    kinds[entry[1]] = entry[2] == nil and "any" or type(entry[2])
    read[entry[1]] = entry[2]
  end
  for name, value in pairs(given or {}) do
    local kind = kinds[name]
    if not kind then refuse(op, name, known) end
    if kind ~= "any" and type(value) ~= kind then fail.type(op, name, articles[kind], value) end
    read[name] = value
  end
  return read
end
