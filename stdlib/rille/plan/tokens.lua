-- The words of a Lua source: a list of { kind, text, line, column }, without comments. Kinds are
-- "name", "keyword", "string", "number" and "sign". The source has to compile.
local keywords = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat
  return then true until while]]):gmatch "%a+" do
  keywords[word] = true
end

-- Where a long bracket that begins at `i` ends; nil where none begins there.
local function long_end(source, i)
  local level = source:match("^%[(=*)%[", i)
  return level and select(2, source:find("]" .. level .. "]", i, true))
end

local function quoted_end(source, i)
  local quote, at = source:sub(i, i), i + 1
  while source:sub(at, at) ~= quote do
    at = at + (source:sub(at, at) == "\\" and 2 or 1)
  end
  return at
end

local function comment_end(source, i)
  return long_end(source, i + 2) or (source:find("\n", i, true) or #source + 1) - 1
end

-- The kind of what begins at `i`, and where it ends.
local function next_token(source, i)
  local from, to = source:find("^[%a_][%w_]*", i)
  if from then return keywords[source:sub(from, to)] and "keyword" or "name", to end
  _, to = source:find("^0[xX][%x.]*[pP]?[+-]?%x*", i)
  if not to then _, to = source:find("^%.?%d[%w.]*", i) end
  if to then
    local exponent = source:match("^[eE][+-]%d+()", to)
    return "number", exponent and exponent - 1 or to
  end
  if source:find("^[\"']", i) then return "string", quoted_end(source, i) end
  to = long_end(source, i)
  if to then return "string", to end
  for _, sign in ipairs { "...", "..", "::", "==", "~=", "<=", ">=", "//", "<<", ">>" } do
    if source:sub(i, i + #sign - 1) == sign then return "sign", i + #sign - 1 end
  end
  return "sign", i
end

return function(source)
  local list, i, line, line_start = {}, 1, 1, 1
  local function pass(to)
    for at in source:sub(i, to):gmatch "()\n" do
      line, line_start = line + 1, i + at
    end
    i = to + 1
  end
  while i <= #source do
    if source:find("^%s", i) then
      pass(select(2, source:find("^%s+", i)))
    elseif source:find("^%-%-", i) then
      pass(comment_end(source, i))
    else
      local kind, to = next_token(source, i)
      list[#list + 1] = {
        kind = kind, text = source:sub(i, to), line = line, column = i - line_start + 1,
      }
      pass(to)
    end
  end
  return list
end
