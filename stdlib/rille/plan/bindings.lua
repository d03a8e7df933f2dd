-- Which names a source makes, and how often: as locals, parameters, loop variables, functions, or
-- by assignment. Scopes are not followed. `tokens` are rille.plan.tokens'.
local bindings = {}

local closing = { ["}"] = true, [")"] = true, ["]"] = true, ["end"] = true, ["until"] = true }
local opening = {
  ["{"] = true, ["("] = true, ["["] = true, ["function"] = true, ["do"] = true, ["if"] = true,
  ["repeat"] = true,
}

function bindings.is(token, text) return token ~= nil and token.text == text end
local is = bindings.is

-- The places of the names from token i on that have commas between, and the token behind them.
-- Attributes such as <close> are passed over.
function bindings.list(tokens, i)
  local places = {}
  while tokens[i] and (tokens[i].kind == "name" or is(tokens[i], "...")) do
    places[#places + 1] = i
    i = i + 1
    if is(tokens[i], "<") then i = i + 3 end
    if not is(tokens[i], ",") then break end
    i = i + 1
  end
  return places, i
end

-- By token: whether the innermost thing it lies in are a table's braces.
function bindings.in_tables(tokens)
  local inside, open = {}, {}
  for i, token in ipairs(tokens) do
    inside[i] = open[#open] == "{"
    local text = token.kind ~= "string" and token.text
    if opening[text] then
      open[#open + 1] = text
    elseif closing[text] then
      open[#open] = nil
    end
  end
  return inside
end

-- Where a function's name and parameters stand: the places that it makes.
local function of_function(tokens, i)
  local places, at = {}, i + 1
  local named = tokens[at].kind == "name" and is(tokens[at + 1], "(")
  if named then places[1] = at end
  local method = false
  while not is(tokens[at], "(") do
    method = method or is(tokens[at], ":")
    at = at + 1
  end
  local parameters = bindings.list(tokens, at + 1)
  return table.move(parameters, 1, #parameters, #places + 1, places), method
end

-- The places of the names that the statement or loop at token i makes, and whether `self` is one.
local function made_at(tokens, i, inside)
  local token = tokens[i]
  if is(token, "function") then return of_function(tokens, i) end
  if is(token, "for") or is(token, "local") and not is(tokens[i + 1], "function") then
    return (bindings.list(tokens, i + 1))
  end
  local before = tokens[i - 1]
  if token.kind ~= "name" or inside[i] or is(before, ".") or is(before, ":") then return {} end
  local places, behind = bindings.list(tokens, i)
  return is(tokens[behind], "=") and places or {}
end

-- By name: how often it is made.
function bindings.count(tokens, inside)
  local count, taken = {}, {}
  for i in ipairs(tokens) do
    local places, method = made_at(tokens, i, inside)
    for _, place in ipairs(places) do
      local name = tokens[place].text
      if not taken[place] then count[name] = (count[name] or 0) + 1 end
      taken[place] = true
    end
    if method then count.self = (count.self or 0) + 1 end
  end
  return count
end

return bindings
