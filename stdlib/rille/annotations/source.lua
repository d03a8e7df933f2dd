-- What the source of a function of the standard library tells of it: the comment above, the names
-- of its parameters, their types where a line `--: name: type -> result` says them, the options
-- that it reads (rille.options) with their defaults.
local native = require "rille.native"

local source = {}

local texts = {}

local function lines_of(name)
  if not texts[name] then
    local lines = {}
    for line in ((native.module_source(name) or "") .. "\n"):gmatch "(.-)\n" do
      lines[#lines + 1] = line
    end
    texts[name] = lines
  end
  return texts[name]
end

-- The comment that ends above line `at`, as a list of lines, and the types in it as one.
local function comment_above(lines, at)
  local text, types, i = {}, {}, at - 1
  while i >= 1 and lines[i]:match "^%s*%-%- ?[^-]" do
    local said = lines[i]:match "^%s*%-%-:%s*(.*)$"
    if said then
      table.insert(types, 1, said)
    else
      table.insert(text, 1, (lines[i]:match "^%s*%-%- ?(.*)$"))
    end
    i = i - 1
  end
  if i == 0 then text = {} end         -- one that begins the file is about the file
  return text, #types > 0 and table.concat(types, " ") or nil
end

-- The value of a table that the source writes out: names and defaults of options.
local function evaluate(text)
  local chunk = load("return " .. text, "=options", "t", { math = math })
  local fine, value = pcall(chunk or error)
  return fine and type(value) == "table" and value or nil
end

local function options_in(lines, at)
  local body = {}
  for i = at, #lines do
    body[#body + 1] = lines[i]
    if lines[i] == "end" then break end
  end
  body = table.concat(body, "\n")
  local word, from = body:match "read_options%([^,]+, ([%a_]+),%s*()"
  if not from then return nil end
  if body:sub(from, from) == "{" then return evaluate(body:match("%b{}", from)), word end
  local name = body:match("^[%w_]+", from)
  if not name then return nil end
  local written = table.concat(lines, "\n"):match("local " .. name .. " = (%b{})")
  return evaluate(written or "nil"), word
end

-- { doc (lines), params (names), signature, options (as declared), word (the parameter that they
-- are read from) } of a Lua function; nil for one of C++'s.
function source.of(f)
  local info = debug.getinfo(f, "S")
  local module = info.source:match "^@rille:(.*)$"
  if not module then return nil end
  local lines, at = lines_of(module), info.linedefined
  local head = table.concat(lines, " ", at, math.min(at + 3, #lines))
  local params = {}
  for name in (head:match "function[^%(]*%((.-)%)" or ""):gmatch "[%w_%.]+" do
    params[#params + 1] = name
  end
  local doc, signature = comment_above(lines, at)
  local options, word = options_in(lines, at)
  return { doc = doc, params = params, signature = signature, options = options, word = word }
end

-- The comment above the line that defines a class in the module where `f` is.
function source.class_doc(f, name)
  local info = debug.getinfo(f, "S")
  local lines = lines_of(info.source:match "^@rille:(.*)$" or "")
  for i, line in ipairs(lines) do
    if line:match('module%.define%(?%s*"' .. name .. '"') then
      return (comment_above(lines, i))
    end
  end
  return {}
end

return source
