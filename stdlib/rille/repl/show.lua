-- Values as the interactive shell shows them: in one line where they fit, tables two levels deep,
-- and no byte that a terminal would obey.
local native = require "rille.native"

local kWidth, kItems, kDepth, kText = 78, 40, 2, 2000

local keyword = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat
    return then true until while]]):gmatch "%a+" do
  keyword[word] = true
end

local names = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\\"] = "\\\\", ['"'] = '\\"' }

local function escaped(c)
  return names[c] or ("\\x%02x"):format(c:byte())
end

local function quoted(s)
  if #s > kText then s = s:sub(1, kText) .. "..." end
  return '"' .. s:gsub('[%c\127\\"]', escaped) .. '"'
end

-- On a terminal a tensor keeps to its width.
local function text_of(value)
  if native.is_tensor(value) and native.isatty(1) then
    return native.tensor_text(value, native.terminal_width())
  end
  return tostring(value)
end

-- What something says of itself: lines stay.
local function own_text(value)
  local ok, text = pcall(text_of, value)
  if not ok then return ("a %s whose text could not be had"):format(type(value)) end
  return (text:gsub("[%c\127]", function(c) return c:find "[\n\t]" and c or escaped(c) end))
end

local show

local function key_text(key, depth)
  if type(key) == "string" and key:find "^[%a_][%w_]*$" and not keyword[key] then return key end
  return "[" .. show(key, depth + 1) .. "]"
end

-- Positions in order, then names in order, then the rest as it comes.
local function keys_of(t)
  local list, n = {}, rawlen(t)
  local texts, others = {}, {}
  for key in next, t do
    local position = math.type(key) == "integer" and key >= 1 and key <= n
    if type(key) == "string" then
      texts[#texts + 1] = key
    elseif not position then
      others[#others + 1] = key
    end
  end
  table.sort(texts)
  table.move(texts, 1, #texts, 1, list)
  table.move(others, 1, #others, #list + 1, list)
  return n, list
end

-- As many items in a line as fit; one of several lines has its lines for itself.
local function laid_out(items, depth)
  local line = "{ " .. table.concat(items, ", ") .. " }"
  if #line + 2 * depth <= kWidth and not line:find "\n" then return line end
  local indent, lines = ("  "):rep(depth + 1), {}
  for k, item in ipairs(items) do
    local text = item:gsub("\n", "\n" .. indent) .. (k < #items and "," or "")
    local last = lines[#lines]
    local joins = last and #last + #text < kWidth and not (last .. text):find "\n"
    if joins then lines[#lines] = last .. " " .. text else lines[#lines + 1] = indent .. text end
  end
  return "{\n" .. table.concat(lines, "\n") .. "\n" .. ("  "):rep(depth) .. "}"
end

local function table_text(t, depth)
  if next(t) == nil then return "{}" end
  if depth >= kDepth then return "{...}" end
  local items, count, names_of = {}, keys_of(t)
  local left = kItems
  for k = 1, math.min(count, left) do items[k] = show(rawget(t, k), depth + 1) end
  left = left - #items
  for k = 1, math.min(#names_of, left) do
    local key = names_of[k]
    items[#items + 1] = key_text(key, depth) .. " = " .. show(rawget(t, key), depth + 1)
  end
  local more = count + #names_of - #items
  if more > 0 then items[#items + 1] = ("... %d more"):format(more) end
  return laid_out(items, depth)
end

-- The text of a value; `depth` is that of the table it lies in.
function show(value, depth)
  local kind = type(value)
  if kind == "string" then return quoted(value) end
  local meta = getmetatable(value)
  local plain = kind == "table" and not (type(meta) == "table" and (meta.__tostring or meta.__name))
  return plain and table_text(value, depth) or own_text(value)
end

-- Says what went wrong, which may be any error; gives what an input gives that failed.
local function complain(problem)
  local ok, text = pcall(tostring, problem)
  if not ok then text = "an error whose text could not be had" end
  io.stderr:write(native.reported(text), "\n")
  return false
end

return {
  value = function(value) return show(value, 0) end,
  text = own_text,
  complain = complain,
}
