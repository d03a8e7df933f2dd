-- Locals that outlive the input which declares them. A `local` at the top level becomes an
-- assignment to a name of the session, in the same place on the same line:
--   local x <const> = 1         ->        x         = 1
--   local function f() end      ->        function f() end
-- Those in blocks and functions stay what they are, and so does one that is to be closed.

local opening = { ["function"] = true, ["if"] = true, ["do"] = true, ["repeat"] = true }
local closing = { ["end"] = true, ["until"] = true }

-- Behind the comment that begins at i, or nil.
local function after_comment(text, i)
  local level = text:match("^%-%-%[(=*)%[", i)
  local _, last = text:find(level and "]" .. level .. "]" or "\n", i + 2, true)
  return last and last + 1
end

-- Behind the string that begins at i, or nil.
local function after_string(text, i)
  local level = text:match("^%[(=*)%[", i)
  if level then
    local _, last = text:find("]" .. level .. "]", i, true)
    return last and last + 1
  end
  local quote, at = text:sub(i, i), i + 1
  while at do
    local found = text:find("[\\" .. quote .. "]", at)
    if not found then return nil end
    if text:sub(found, found) == quote then return found + 1 end
    at = found + 2
  end
end

-- The token at or after i: its text, where it begins, and what is behind it; nil at the end.
-- Strings and numbers come as one piece each, whatever they hold.
local function token(text, i)
  while true do
    i = text:find("%S", i)
    if not i then return nil end
    if text:sub(i, i + 1) ~= "--" then break end
    i = after_comment(text, i)
    if not i then return nil end
  end
  local behind
  if text:find("^[\"']", i) or text:find("^%[=*%[", i) then
    behind = after_string(text, i)
    if not behind then return nil end
  else
    behind = text:match("^[%a_][%w_]*()", i) or text:match("^%.?%d[%w_.]*()", i) or i + 1
  end
  return text:sub(i, behind - 1), i, behind
end

-- The names of `local a <const>, b` from i on, as a list that has their attributes by name, too;
-- the attributes' places, and what is behind them.
local function read_names(text, i)
  local names, attributes, closes = {}, {}, false
  while true do
    local name, _, behind = token(text, i)
    if not name or not name:find "^[%a_]" then return nil end
    names[#names + 1] = name
    i = behind
    local mark, from, after = token(text, i)
    if mark == "<" then
      local attribute, _, last = token(text, after)
      local _, _, over = token(text, last or #text + 1)
      if not over then return nil end
      closes = closes or attribute == "close"
      names[name] = attribute
      attributes[#attributes + 1] = { from, over - 1 }
      i = over
      mark, _, after = token(text, i)
    end
    if mark ~= "," then return names, attributes, closes, i, mark end
    i = after
  end
end

-- The same text with its top-level locals lifted, their names with "local" or "const" each, and
-- whether there is one that is closed at the end of the input. Text that is no Lua comes back in
-- any state.
return function(text)
  local names, closes, depth = {}, false, 0
  local parts, done = {}, 1                              -- text before `done` has been taken over
  local function replace(from, last, by)
    parts[#parts + 1] = text:sub(done, from - 1)
    parts[#parts + 1] = by
    done = last + 1
  end
  local function blank(from, last)
    replace(from, last, (text:sub(from, last):gsub("[^\n]", " ")))
  end
  local word, from, i = token(text, 1)
  while word do
    if opening[word] then depth = depth + 1 elseif closing[word] then depth = depth - 1 end
    if word == "local" and depth == 0 then
      local follows, _, behind = token(text, i)
      if follows == "function" then
        names[token(text, behind) or ""] = "local"
        blank(from, i - 1)
      else
        local list, attributes, must_close, after, mark = read_names(text, i)
        if list and must_close then
          closes, i = true, after
        elseif list then
          for _, name in ipairs(list) do names[name] = list[name] or "local" end
          blank(from, i - 1)
          for _, place in ipairs(attributes) do blank(place[1], place[2]) end
          if mark ~= "=" then replace(after, after - 1, " = nil;") end
          i = after
        end
      end
    end
    word, from, i = token(text, i)
  end
  parts[#parts + 1] = text:sub(done)
  return table.concat(parts), names, closes
end
