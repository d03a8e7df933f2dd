-- The lines of a LuaCATS file: comments, classes of options, functions with typed parameters.
local Writer = {}
Writer.__index = Writer

local reserved = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat "
  .. "return then true until while"):gmatch "%a+" do
  reserved[word] = true
end

function Writer.new()
  return setmetatable({ lines = {} }, Writer)
end

function Writer:line(text, ...)
  self.lines[#self.lines + 1] = select("#", ...) > 0 and text:format(...) or text
end

-- A name that may stand for a parameter.
function Writer.parameter(name)
  return reserved[name] and name .. "_" or name
end

function Writer:doc(lines)
  if type(lines) == "string" then lines = lines ~= "" and { lines } or {} end
  for _, text in ipairs(lines) do
    for piece in text:gmatch "[^\n]+" do self:line("---" .. piece) end
  end
end

-- The class of an options table: entries have name, type and may have doc, default and fields of
-- their own, which are a class, too. What is required may be missing where it can be given by
-- position.
function Writer:options(class, entries)
  for _, entry in ipairs(entries) do
    if entry.fields then self:options(class .. "." .. entry.name, entry.fields) end
  end
  self:line("---@class %s", class)
  for _, entry in ipairs(entries) do
    local mark = entry.required and not entry.positional and "" or "?"
    local kind = entry.fields and class .. "." .. entry.name or entry.type
    local words = { "---@field", entry.name .. mark, kind }
    if entry.doc and entry.doc ~= "" then words[#words + 1] = entry.doc end
    if entry.default then words[#words + 1] = ("(default %s)"):format(entry.default) end
    self:line("%s", table.concat(words, " "))
  end
  self:line ""
end

-- A field "name: type" of a list, at its commas: those inside brackets are part of a type.
local function split(text)
  local parts, depth, from = {}, 0, 1
  for i = 1, #text do
    local c = text:sub(i, i)
    if c:match "[%(<{]" then depth = depth + 1 end
    if c:match "[%)>}]" then depth = depth - 1 end
    if c == "," and depth == 0 then
      parts[#parts + 1], from = text:sub(from, i - 1), i + 1
    end
  end
  parts[#parts + 1] = text:sub(from)
  return parts
end

-- Parameters and results of "a: number, b?: string -> integer, string".
function Writer.signature(text)
  local params, results = {}, {}
  local takes, gives = text:match "^(.-)%s*%->%s*(.*)$"
  for _, part in ipairs(split(takes or text)) do
    local name, mark, kind = part:match "^%s*([%w_%.]+)(%??):%s*(.-)%s*$"
    if name then params[#params + 1] = { name = name, optional = mark == "?", type = kind } end
  end
  for _, part in ipairs(split(gives or "")) do
    if part:match "%S" then results[#results + 1] = part:match "^%s*(.-)%s*$" end
  end
  return params, results
end

-- `name` is how the file calls it ("M.sum", "Tensor:sum"). Params: name, type, optional, doc.
function Writer:func(name, doc, params, results, overloads)
  self:doc(doc)
  local names = {}
  for i, p in ipairs(params) do
    names[i] = Writer.parameter(p.name)
    self:line(("---@param %s%s %s %s"):format(names[i], p.optional and "?" or "", p.type,
      p.doc or ""):gsub("%s+$", ""))
  end
  for _, result in ipairs(results) do self:line("---@return %s", result) end
  for _, overload in ipairs(overloads or {}) do self:line("---@overload %s", overload) end
  self:line("function %s(%s) end", name, table.concat(names, ", "))
  self:line ""
end

function Writer:text()
  return table.concat(self.lines, "\n") .. "\n"
end

return Writer
