-- What the word before the cursor may become: names and fields by what is there now (nothing is
-- called), options inside a call's table, choices or files inside a string, dot-commands.
local native = require "rille.native"
local call = require "rille.repl.call"
local commands = require "rille.repl.commands"
local values = require "rille.repl.values"

local keywords, is_keyword = {}, {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat
    return then true until while]]):gmatch "%a+" do
  keywords[#keywords + 1], is_keyword[word] = word, true
end

-- Where the cursor is: the bracket that is open there, as { character, position, one around it },
-- and the position of the quote where it is within a string.
local function place(text)
  local open, i = nil, 1
  while true do
    i = text:find("[\"'(){}%[%]]", i)
    if not i then return open end
    local c = text:sub(i, i)
    if c == '"' or c == "'" then
      local at = i + 1
      repeat
        at = text:find("[\\" .. c .. "]", at)
        if not at then return open, i end
        local ends = text:sub(at, at) == c
        at = at + (ends and 1 or 2)
      until ends
      i = at
    else
      if c:find "[({%[]" then open = { c, i, open } else open = open and open[3] end
      i = i + 1
    end
  end
end

local function add(list, seen, name, prefix)
  if type(name) ~= "string" or seen[name] or name:sub(1, #prefix) ~= prefix then return end
  if not name:find "^[%a_][%w_]*$" then return end
  seen[name] = true
  list[#list + 1] = name
end

-- The fields of a value: its own, and those that its metatable's tables give it.
local function fields_of(value, prefix)
  local list, seen = {}, {}
  if native.is_tensor(value) then
    for name in next, native.tensor_methods do add(list, seen, name, prefix) end
    for name in next, native.tensor_fields do add(list, seen, name, prefix) end
  end
  local class = values.class_of(value)
  for _, name in ipairs(class and getmetatable(class).names() or {}) do
    add(list, seen, name, prefix)
  end
  for _ = 1, 20 do                                       -- a metatable may be its own __index
    if type(value) == "table" then
      for name in next, value do add(list, seen, name, prefix) end
    end
    local meta = getmetatable(value)
    if type(meta) ~= "table" then break end
    if rawget(meta, "names") then
      for _, name in ipairs(meta.names()) do add(list, seen, name, prefix) end
    end
    value = rawget(meta, "__index")
  end
  table.sort(list)
  return list
end

local function names_in(session, prefix)
  local list, seen = {}, {}
  for name in pairs(session.declared) do add(list, seen, name, prefix) end
  for name in next, _G do add(list, seen, name, prefix) end
  for _, name in ipairs(keywords) do add(list, seen, name, prefix) end
  for k = 1, #session.results do add(list, seen, "_" .. k, prefix) end
  table.sort(list)
  return list
end

local function files(prefix)
  local folder, start = prefix:match "^(.*/)([^/]*)$"
  folder, start = folder or "", start or prefix
  local ok, found = pcall(native.list, folder == "" and "." or folder)
  local list = {}
  for _, name in ipairs(ok and found or {}) do
    local hidden = name:sub(1, 1) == "." and start:sub(1, 1) ~= "."
    if not hidden and name:sub(1, #start) == start then
      local is_folder = pcall(native.list, folder .. name)
      list[#list + 1] = folder .. name .. (is_folder and "/" or "")
    end
  end
  return list
end

-- The options of the call that the cursor is in the table of, where a name may stand.
local function options(session, text, open, prefix)
  if not text:sub(1, #text - #prefix):match "[{,;]%s*$" then return {} end
  local list = {}
  for _, option in ipairs(call.options(session, text, open) or {}) do
    local fits = option.name:sub(1, #prefix) == prefix and not is_keyword[option.name]
    if fits then list[#list + 1] = option.name .. " = " end
  end
  return list
end

local function strings(session, text, open, quote)
  local prefix, list = text:sub(quote + 1), {}
  local choices = call.choices(session, text, open, quote)
  for _, choice in ipairs(choices) do
    if choice:sub(1, #prefix) == prefix then list[#list + 1] = choice end
  end
  return #choices > 0 and list or files(prefix), #prefix
end

-- What may stand in the place of the last `length` bytes of the text before the cursor.
return function(session, text)
  local command = text:match "^%s*%.(%a*)$"
  if command then
    local list = {}
    for _, c in ipairs(commands.list) do
      if c.name:sub(1, #command) == command then list[#list + 1] = c.name .. " " end
    end
    return list, #command
  end
  local file = text:match "^%s*%.load%s+(.*)$"
  if file then return files(file), #file end
  if session.buffer then text = session.buffer .. "\n" .. text end
  local open, quote = place(text)
  if quote then return strings(session, text, open, quote) end
  local path, prefix = text:match "([%a_][%w_.:]*)[.:]([%w_]*)$"
  if path then return fields_of(values.of(session, path), prefix), #prefix end
  prefix = text:match "[%a_][%w_]*$" or ""
  local list = options(session, text, open, prefix)
  if prefix == "" then return list, 0 end
  local names = names_in(session, prefix)
  return table.move(names, 1, #names, #list + 1, list), #prefix
end
