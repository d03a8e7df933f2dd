-- The hard limits of size, and a few habits that a line of text shows. Reported, not bent: a file
-- that is too long wants to be two.
package.path = "scripts/dev/?.lua;" .. package.path
local tree = require "tree"

local kWidth, kBytes = 100, 300 * 1000

-- The first row whose pattern the path matches gives the limits: lines of the file, of a function.
local limits = {
  { "^tests/.*%.lua$", 700, 100 }, { "^tests/.*%.%w+$", 700, 100 },
  { "%.lua$", 300, 70 },
  { "^runtime/ops/.*%.h$", 700, 70 },
  { "^runtime/cpu/", 600, 100 }, { "^runtime/cuda/", 600, 100 }, { "%.cuh?$", 600, 100 },
  { "%.[ch]p*$", 600, 70 },
}

local function limits_of(path)
  for _, row in ipairs(limits) do
    if path:find(row[1]) then return row[2], row[3] end
  end
end

local not_functions = {
  "^%s*namespace", "^%s*struct", "^%s*class", "^%s*union", "^%s*enum", "^%s*extern",
  "^%s*if ", "^%s*for ", "^%s*while ", "^%s*switch ", "^%s*else", "^%s*do ", "= ?{$",
}

-- The indent of a line that opens a function body. clang-format has laid the file out, so a body
-- ends at the next line that closes at the same indent.
local function opens_function(text, is_lua)
  if is_lua then
    local indent = text:match("^(%s*)local function ") or text:match("^(%s*)function ")
    return not text:find("%f[%w]end%f[%W]") and indent or nil
  end
  if not text:find("{$") then return nil end
  for _, pattern in ipairs(not_functions) do
    if text:find(pattern) then return nil end
  end
  local indent = text:match("^ *")
  if text:find("^    *: ") then indent = indent:sub(5) end -- a constructor's initialisers
  return #indent <= 4 and text:find("%)[%w%s]*{$") and indent or nil
end

local function check_functions(path, longest)
  local is_lua = path:find("%.lua$") ~= nil
  local closing = is_lua and "end" or "}"
  local open, indent
  for number, text in tree.lines(path) do
    if open and text:sub(1, #indent + #closing) == indent .. closing then
      local length = number - open + 1
      if length > longest then
        tree.report(path, open, "a function of %d lines; the limit is %d", length, longest)
      end
      open = nil
    elseif not open then
      indent = opens_function(text, is_lua)
      open = indent and number
    end
  end
end

-- Where `catch (...)` may stand: around the guard's work, and around code of a host's, from which no
-- error of Lua's comes.
local calls_hosts = {
  ["interpreter/api/loader_workers.cpp"] = true, ["interpreter/api/values.cpp"] = true,
  ["interpreter/lua/output.cpp"] = true,
}

local function check_text(path)
  local in_interpreter = path:find("^interpreter/") and not path:find("^interpreter/lua/guard%.")
    and not calls_hosts[path]
  local may_synchronize = path:find("^runtime/cuda/core/")
  local count = 0
  for number, text in tree.lines(path) do
    count = number
    local width = utf8.len(text) or #text
    if width > kWidth then
      tree.report(path, number, "%d columns; the limit is %d", width, kWidth)
    end
    if text:find("%f[%w]TODO%f[%W]") and not text:find("TODO%(#%d+%)") then
      tree.report(path, number, "a TODO names its issue: TODO(#123)")
    end
    if in_interpreter and text:find("catch%s*%(%.%.%.%)") then
      tree.report(path, number, "catch (...) eats Lua's errors: only in interpreter/lua/guard")
    end
    if text:find("cudaDeviceSynchronize") and not may_synchronize then
      tree.report(path, number, "cudaDeviceSynchronize only in runtime/cuda/core")
    end
  end
  return count
end

local function is_text_of_ours(path)
  if tree.source_kind(path) or path:find("%.lua$") or path:find("%.sh$") then return true end
  return path:find("%.cmake$") or path:find("CMakeLists%.txt$") or path == "dev"
end

local files, checked = tree.files(), 0
for _, path in ipairs(files) do
  local file <close> = io.open(path, "rb")
  local bytes = file:seek("end")
  if bytes > kBytes then
    tree.report(path, nil, "%d kB; the limit is %d", bytes // 1000, kBytes // 1000)
  end
  if is_text_of_ours(path) and not path:find("^scripts/dev/sizes") then
    checked = checked + 1
    local lines = check_text(path)
    local longest_file, longest_function = limits_of(path)
    if longest_file then
      if lines > longest_file then
        tree.report(path, nil, "%d lines; the limit is %d", lines, longest_file)
      end
      check_functions(path, longest_function)
    end
  end
end
tree.finish("sizes", checked)
