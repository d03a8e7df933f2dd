-- Names in a source that nothing is known by: members that `rille` and its tables don't have, and
-- globals that nothing defines. A name that a file makes twice may be either thing, so nothing is
-- said of it.
local bindings = require "rille.plan.bindings"
local nearest = require "rille.nearest"
local tokens_of = require "rille.plan.tokens"

local is = bindings.is

local names = {}

-- Follows `.name.name` behind token i from a table of the library. Gives the value, its last token,
-- and what is unknown: { token, message }.
local function follow(tokens, i, value)
  while is(tokens[i + 1], ".") do
    local meta = type(value) == "table" and getmetatable(value)
    if type(meta) ~= "table" or not meta.names then return nil, i end
    local member = tokens[i + 2]
    local fine, found = pcall(function() return value[member.text] end)
    if not fine then
      local told = type(found) == "table" and ("%s: %s"):format(found.op, found.message)
      return nil, i + 2, { token = member, message = told or tostring(found) }
    end
    value, i = found, i + 2
  end
  return value, i
end

-- Whether a value ends before this token and is not part of a longer expression.
local function ends_value(token)
  if not token or is(token, ",") or is(token, ";") then return true end
  if token.kind == "keyword" then return token.text ~= "and" and token.text ~= "or" end
  return token.kind == "name"
end

-- The value of `require "rille"`, or of a known name and members of it, at token i; and the token
-- behind. Nil for anything else.
local function value_at(tokens, i, known)
  local value
  if is(tokens[i], "require") then
    local in_parens = is(tokens[i + 1], "(")
    local path = tokens[in_parens and i + 2 or i + 1]
    if not path or path.text:sub(2, -2) ~= "rille" then return nil end
    value, i = require "rille", in_parens and i + 3 or i + 1
  else
    value = tokens[i] and known[tokens[i].text]
  end
  if not value then return nil end
  local last
  value, last = follow(tokens, i, value)
  if not ends_value(tokens[last + 1]) then return nil end
  return value, last + 1
end

-- Tables of the library by the names that the source gives them:
-- local rille = require "rille"; local nn, optim = rille.nn, rille.optim
local function aliases_of(tokens, count)
  local known = {}
  for i, token in ipairs(tokens) do
    if is(token, "local") and not is(tokens[i + 1], "function") then
      local places, at = bindings.list(tokens, i + 1)
      for _, place in ipairs(places) do
        local value, behind = value_at(tokens, at + 1, known)
        if not behind then break end
        local name = tokens[place].text
        if count[name] == 1 and type(value) == "table" then known[name] = value end
        if not is(tokens[behind], ",") then break end
        at = behind
      end
    end
  end
  return known
end

-- Whether the name at token i is read by itself: not a member, field, label or attribute.
local function is_read(tokens, i, inside)
  local before, after = tokens[i - 1], tokens[i + 1]
  if tokens[i].kind ~= "name" or is(before, ".") or is(before, ":") then return false end
  if is(before, "goto") or is(before, "::") or is(before, "<") and is(after, ">") then
    return false
  end
  return not (inside[i] and is(after, "="))
end

-- Members of the library's tables that they don't have: a list of { token, message }.
function names.unknown_members(source)
  local tokens = tokens_of(source)
  local inside = bindings.in_tables(tokens)
  local known, found = aliases_of(tokens, bindings.count(tokens, inside)), {}
  for i, token in ipairs(tokens) do
    if is_read(tokens, i, inside) and known[token.text] then
      local _, _, problem = follow(tokens, i, known[token.text])
      found[#found + 1] = problem
    end
  end
  return found
end

local function text_of(name)
  local defined = {}
  for key in next, _G do
    if type(key) == "string" then defined[#defined + 1] = key end
  end
  local near = nearest(name, defined)
  return ("'%s' is not defined%s"):format(name,
    near and (" (did you mean '%s'?)"):format(near) or "")
end

-- Names that the source reads, makes nowhere, and that are no globals now.
function names.unknown_globals(source)
  local tokens, found = tokens_of(source), {}
  local inside = bindings.in_tables(tokens)
  local count = bindings.count(tokens, inside)
  for i, token in ipairs(tokens) do
    local name = token.text
    if is_read(tokens, i, inside) and not count[name] and name ~= "_ENV"
      and rawget(_G, name) == nil then
      found[#found + 1] = { token = token, message = text_of(name) }
    end
  end
  return found
end

return names
