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

-- Where a number that begins at `i` ends; nil where none begins there.
local function number_end(source, i)
  local hexadecimal = source:match("^0[xX][%x.]*[pP]?[+-]?%x*()", i)
  if hexadecimal then return hexadecimal - 1 end
  local behind = source:match("^%.?%d[%w.]*()", i)
  if not behind then return nil end
  return (source:match("^[eE][+-]%d+()", behind - 1) or behind) - 1
end

local long_signs = { "...", "..", "::", "==", "~=", "<=", ">=", "//", "<<", ">>" }

local function sign_end(source, i)
  for _, sign in ipairs(long_signs) do
    if source:sub(i, i + #sign - 1) == sign then return i + #sign - 1 end
  end
  return i
end

-- The kind of what begins at `i`, and where it ends.
local function next_token(source, i)
  local word = source:match("^[%a_][%w_]*", i)
  if word then return keywords[word] and "keyword" or "name", i + #word - 1 end
  local to = number_end(source, i)
  if to then return "number", to end
  if source:find("^[\"']", i) then return "string", quoted_end(source, i) end
  to = long_end(source, i)
  if to then return "string", to end
  return "sign", sign_end(source, i)
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
