-- Reads the includes of every C++ file and reports those that point up. The tables below are the
-- law of docs/architecture.md; a new arrow is a decision, not a repair.
package.path = "scripts/dev/?.lua;" .. package.path
local tree = require "tree"

local lower = "runtime/ops runtime/autograd runtime/core"
local all_rooms = "runtime/nn runtime/amp runtime/optim runtime/data runtime/dist runtime/io "
  .. "runtime/profile runtime/cpu runtime/cuda " .. lower

-- room -> rooms that it may include, besides itself. Rooms that are not named may include all.
local may_include = {
  ["runtime/core"] = "",
  ["runtime/cpu"] = "runtime/core",
  ["runtime/cuda"] = "runtime/core",
  ["runtime/autograd"] = "runtime/cpu runtime/cuda runtime/core",
  ["runtime/ops"] = "runtime/autograd runtime/cpu runtime/cuda runtime/core",
  ["runtime/nn"] = lower,
  ["runtime/amp"] = lower .. " runtime/cpu",    -- unscaling is such a sweep, too
  ["runtime/optim"] = lower .. " runtime/cpu",  -- drives the fused steps itself: docs/adr/0009
  ["runtime/io"] = lower,
  ["runtime/profile"] = lower,
  ["runtime/data"] = lower .. " runtime/io",
  ["runtime/dist"] = lower .. " runtime/io",
  ["runtime"] = all_rooms,
  ["stdlib"] = "",
  ["interpreter/include"] = "",
  ["interpreter/lua"] = "interpreter/include stdlib runtime/ops runtime/autograd runtime/core",
  ["interpreter/bind"] = "interpreter/include interpreter/lua stdlib runtime " .. all_rooms,
  ["interpreter/api"] = "interpreter/include interpreter/lua interpreter/bind stdlib runtime "
    .. all_rooms,
  ["interpreter/module"] = "interpreter/include interpreter/lua interpreter/bind",
  ["interpreter/shell"] = "interpreter/include interpreter/lua interpreter/bind stdlib runtime "
    .. all_rooms,
  ["interpreter"] = "interpreter/include interpreter/lua interpreter/bind interpreter/shell stdlib "
    .. "runtime " .. all_rooms,
}

-- A group of libraries: patterns of their headers, where they may be included (prefixes of paths).
local homes = {
  { name = "Lua", headers = { "^lua%.h", "^lauxlib%.h", "^lualib%.h" },
    places = "interpreter/lua/ tests/unit/interpreter/ tests/stock/ tests/support/" },
  { name = "CUDA",
    headers = { "^cuda", "^cublas", "^cudnn", "^nvrtc", "^cupti", "^nvtx3/", "^nccl" },
    places = "runtime/cuda/ runtime/dist/nccl", kinds = { cu = true, cuh = true } },
  { name = "gloo", headers = { "^gloo/" }, places = "runtime/dist/" },
  { name = "oneDNN", headers = { "^dnnl", "^oneapi/" }, places = "runtime/cpu/" },
  { name = "SQLite", headers = { "^sqlite3" }, places = "interpreter/shell/" },
  { name = "libedit", headers = { "^histedit", "^editline/" }, places = "interpreter/shell/" },
  { name = "CLI11", headers = { "^CLI/" }, places = "interpreter/shell/" },
  { name = "zlib", headers = { "^zlib" }, places = "runtime/io/ runtime/data/" },
  { name = "JSON", headers = { "^nlohmann/" },
    places = "runtime/io/ runtime/profile/ interpreter/ tests/ benchmarks/" },
  { name = "Catch2", headers = { "^catch2/" }, places = "tests/" },
  { name = "fmt", headers = { "^fmt/" }, places = "runtime/core/fail.h", kinds = { cpp = true } },
}

local function words(text)
  local set = {}
  for word in text:gmatch("%S+") do set[word] = true end
  return set
end
for room, list in pairs(may_include) do may_include[room] = words(list) end

local function exists(path)
  local file <close> = io.open(path)
  return file ~= nil
end

-- Where the compiler finds a header of ours; nil when it is not ours.
local function resolve(from, header)
  local roots = { from:match("^(.*/)"), "runtime/", "interpreter/include/", "interpreter/", "" }
  for _, root in ipairs(roots) do
    local path = root .. header
    while path:find("[^/]+/%.%./") do path = path:gsub("[^/]+/%.%./", "", 1) end
    if exists(path) then return path end
  end
end

local function starts_with_any(path, prefixes)
  for prefix in prefixes:gmatch("%S+") do
    if path:sub(1, #prefix) == prefix then return true end
  end
end

local function check_library(path, line, header)
  local kind = tree.source_kind(path)
  for _, home in ipairs(homes) do
    local at_home = home.kinds and home.kinds[kind] or starts_with_any(path, home.places)
    for _, pattern in ipairs(home.headers) do
      if header:find(pattern) and not at_home then
        tree.report(path, line, "<%s>: %s only in %s", header, home.name, home.places)
      end
    end
  end
end

local function check_ours(path, line, target)
  local room, target_room = tree.room(path), tree.room(target)
  local allowed = may_include[room]
  if allowed and room ~= target_room and not allowed[target_room] then
    tree.report(path, line, "%s may not include %s (%s)", room, target_room, target)
  end
  if target == "runtime/core/fail.h" and tree.source_kind(path) ~= "cpp" then
    tree.report(path, line, "core/fail.h brings in fmt: only in .cpp files")
  end
end

local checked = 0
for _, path in ipairs(tree.files("runtime", "interpreter", "stdlib", "tests", "benchmarks")) do
  if tree.source_kind(path) then
    checked = checked + 1
    for line, text in tree.lines(path) do
      local header = text:match('^%s*#%s*include%s*[<"]([^>"]+)[>"]')
      if header then
        local target = resolve(path, header)
        if target then check_ours(path, line, target) else check_library(path, line, header) end
      end
    end
  end
end
tree.finish("layers", checked)
