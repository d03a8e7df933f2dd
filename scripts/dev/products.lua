-- Finds products of sizes that are not checked. A script's numbers take part in them, so they may
-- wrap around; core/sizes.h has those that don't: Checked(a) * b, numel_of_dims, share.
--
-- A size is t.size(d), t.numel(), an entry of a Shape, Dims or Strides, or a variable or field of
-- type int64_t. Its products are findings unless they are an index in brackets or a distance from
-- `data()`: what lies in memory has sizes that fit. A line may say why its product fits, too:
-- `// fits: the reason`.
package.path = "scripts/dev/?.lua;" .. package.path
local tree = require "tree"

local own = {
  ["runtime/core/shape.cpp"] = true, ["runtime/core/sizes.h"] = true,
  ["runtime/core/sizes.cpp"] = true,
  -- These count elements of tensors that are there.
  ["runtime/core/dtype.h"] = true, ["runtime/core/packed.cpp"] = true,
  ["runtime/core/tensor.h"] = true, ["runtime/core/threads.cpp"] = true,
  ["runtime/ops/samples.cpp"] = true,
}

-- What a declared type makes of a name.
local kinds = {
  int64_t = "size", Shape = "list", Dims = "list", Strides = "list", Checked = "checked",
}

-- The text without strings, comments and what stands in brackets.
local function bare(text)
  text = text:gsub('"[^"]*"', '""'):gsub("//.*$", "")
  return (text:gsub("%b[]", "[]"))
end

-- Adds the names that the text declares, with initial values or as parameters.
local function declare(text, names)
  for at, word in text:gmatch("()%f[%w_]([%w_]+)%f[^%w_]") do
    if kinds[word] then
      local rest = text:sub(at + #word):gsub("%b()", "()"):gsub("%b{}", "{}")
      for piece in rest:gmatch("[^,;)]+") do
        local name = piece:match("^[&%s]*([%a_][%w_]*)%s*$")
          or piece:match("^[&%s]*([%a_][%w_]*)%s*[=({%[:]")
        if not name then break end
        names[name] = kinds[word]
      end
    end
  end
end

local function is_size(operand, names)
  local inside = operand:match("^%b()$")
  if inside then
    for part in operand:sub(2, -2):gmatch("[^%s+%-/%%]+") do
      if is_size(part, names) then return true end
    end
    return false
  end
  if operand:find("%.size%b()$") then return not operand:find("%.size%(%)$") end
  if operand:find("%.numel%(%)$") then return true end
  local list = operand:match("([%w_]+)%(?%)?%[%]$")
  if list then return list == "shape" or list == "strides" or names[list] == "list" end
  local argument = operand:match("^a%.([%w_]+)$")
  if argument then return names.arguments[argument] == "size" end
  return names[operand:match("[%w_]+$")] == "size"
end

local function is_checked(text, operand, names)
  return names[operand] == "checked" or text:find("Checked")
end

-- The operand that ends, or begins, at a sign.
local function before(text)
  return text:match("[%w_%.%->:]*%b()%[?%]?%s*$") or text:match("[%w_%.%->]+%[?%]?%s*$") or ""
end
local function behind(text)
  return text:match("^%s*[%w_%.%->:]*%b()%[?%]?") or text:match("^%s*[%w_%.%->]+%[?%]?") or ""
end

-- Whether the star is one of a type or a value that is pointed to.
local function is_pointer(left, right)
  return not left:find("[%w_)%]]%s*$") or left:find("int64_t%s*$")
    or right:find("^[%w_,)>&*]") and not left:find("%s$")
end

local function check_line(path, number, text, names)
  for at in text:gmatch("()%*") do
    local left, right = text:sub(1, at - 1), text:sub(at + 1)
    local a, b = before(left):gsub("%s", ""), behind((right:gsub("^=", ""))):gsub("%s", "")
    local distance = left:find("data[%w_<>]*%(%)[^,;]*%+[^,;]*$")
    local fits = is_pointer(left, right) or distance
      or is_checked(left, a, names) or is_checked(right:match("^[^,;)]*"), b, names)
    if not fits and (is_size(a, names) or is_size(b, names)) then
      tree.report(path, number, "an unchecked product of sizes: %s * %s", a, b)
    end
  end
end

-- Arguments of ops, a.NAME, as the header beside their source declares them.
local function arguments_of(path)
  local arguments = {}
  local header = path:match("^(.*)%.cpp$")
  local file <close> = header and io.open(header .. ".h")
  if file then
    for line in file:lines() do
      if line:find("^%s*int64_t [%w_, =]+;") then declare(bare(line), arguments) end
    end
  end
  return arguments
end

local checked = 0
for _, path in ipairs(tree.files("runtime/ops", "runtime/core", "runtime/io", "runtime/data")) do
  if tree.source_kind(path) and not own[path] then
    checked = checked + 1
    local arguments = arguments_of(path)
    local names = { arguments = arguments }
    for number, line in tree.lines(path) do
      if line:find("^}") then names = { arguments = arguments } end
      local text = bare(line)
      declare(text, names)
      if not line:find("// fits: %S") then check_line(path, number, text, names) end
    end
  end
end
tree.finish("products", checked)
