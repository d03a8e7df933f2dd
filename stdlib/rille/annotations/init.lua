-- LuaCATS files for editors: what `rille` and all in it take and give, from the ops' and layers'
-- own declarations, the sources of the standard library and the table of types for what is written
-- in C++. `rille help --luacats DIR` writes them, the build does, too.
local native = require "rille.native"
local catalog = require "rille.annotations.catalog"
local classes = require "rille.annotations.classes"
local dtypes = require "rille.annotations.choices".dtypes
local describe = require "rille.annotations.describe"
local natives = require "rille.annotations.natives"
local Writer = require "rille.annotations.write"

local annotations = { names_of = catalog.names_of }

local begin = {}                         -- what a file has before its names

function begin.rille(w)
  w:line('---@alias rille.dtype "%s"', table.concat(dtypes, '"|"'))
  w:line [[

---@class rille.Generator
---@field seed fun(self: rille.Generator, seed: integer)
---@field state fun(self: rille.Generator): integer[]
---@field set_state fun(self: rille.Generator, state: integer[])

---@class rille.Recipe
---@field name string
---@field run fun(self: rille.Recipe, words?: string[]): integer
]]
end

begin["rille.optim"] = function(w)
  w:line [[
---@class rille.optim.group
---@field params rille.Tensor[]
---@field [string] any options of the optimizer for these parameters
]]
end

begin["rille.data"] = function(w)
  w:line [[
---@class rille.data.Set
---@operator len: integer
---@field [integer|string] any

---@class rille.data.Sampler
---@operator len: integer
---@field iter fun(self: rille.data.Sampler, epoch?: integer): fun(): any
---@field set_epoch fun(self: rille.data.Sampler, epoch: integer)
]]
end

local function write_object(w, object)
  w:line("---@class %s", object.path)
  w:line "---@field [string] any"
  w:line "---@overload fun(...): any"
  w:line("local %s = {}", object.name)
  w:line ""
  for _, place in ipairs(object.places) do
    describe.write(w, object.name .. ":" .. place.name, catalog.entry(place))
  end
end

local function write_callable(w, place)
  local entry, words = catalog.entry(place), {}
  if entry.options then w:options(place.path .. ".options", entry.options) end
  for i, p in ipairs(entry.params) do
    words[i] = ("%s%s: %s"):format(p.name, p.optional and "?" or "", p.type)
  end
  w:doc(entry.doc)
  w:line("---@class %s", place.path)
  w:line("---@overload fun(%s): %s", table.concat(words, ", "), entry.results[1])
  w:line("M.%s = {}", place.name)
  w:line ""
  for _, inner in ipairs(place.places) do
    describe.write(w, ("M.%s.%s"):format(place.name, inner.name), catalog.entry(inner))
  end
end

-- One file for a table of the library; tables in it get files of their own.
local function write_module(place, out)
  local w = Writer.new()
  w:line("---@meta %s", place.path)
  w:line ""
  if begin[place.path] then begin[place.path](w) end
  for _, object in ipairs(place.objects) do write_object(w, object) end
  w:line("---@class %s", place.path)
  w:line "local M = {}"
  w:line ""
  for _, inner in ipairs(place.places) do
    if inner.kind == "class" then
      classes.write(w, catalog.entry(inner))
    elseif inner.kind == "callable" then
      write_callable(w, inner)
    elseif inner.kind == "table" then
      w:line("---@type %s", inner.path)
      w:line("M.%s = {}", inner.name)
      w:line ""
      write_module(inner, out)
    elseif inner.kind == "value" then
      local value = inner.value
      w:line("---@type %s", type(value))
      w:line("M.%s = %s", inner.name, type(value) == "string" and '""' or tostring(value))
      w:line ""
    else
      describe.write(w, "M." .. inner.name, catalog.entry(inner))
    end
  end
  w:line "return M"
  out[place.path .. ".d.lua"] = w:text()
end

local operators = {
  { "add", true }, { "sub", true }, { "mul", true }, { "div", true }, { "idiv", true },
  { "mod", true }, { "pow", true }, { "unm" },
}

local function write_tensor(out)
  local w = Writer.new()
  w:line "---@meta rille.Tensor"
  w:line ""
  w:doc "An array of one dtype on one device. Dims and positions count from 1."
  w:line "---@class rille.Tensor"
  for _, name in ipairs(catalog.names_of(native.tensor_fields)) do
    local typed = natives["Tensor#" .. name]
    w:line("---@field %s %s %s", name, typed[1], typed[2])
  end
  w:line "---@field [integer|table] any"
  for _, operator in ipairs(operators) do
    w:line("---@operator %s%s: rille.Tensor", operator[1],
      operator[2] and "(rille.Tensor|number)" or "")
  end
  w:line "---@operator len: integer"
  w:line "local Tensor = {}"
  w:line ""
  for _, place in ipairs(catalog.at "Tensor".places) do
    describe.write(w, "Tensor:" .. place.name, catalog.entry(place))
  end
  w:line "return Tensor"
  out["rille.Tensor.d.lua"] = w:text()
end

-- The files by name.
function annotations.texts()
  local out = {}
  write_module(catalog.at "rille", out)
  write_tensor(out)
  return out
end

-- Writes them into a folder, which is made; gives how many there are.
function annotations.write(folder)
  native.mkdirs(folder)
  local count = 0
  for name, text in pairs(annotations.texts()) do
    native.write_file(folder .. "/" .. name, text)
    count = count + 1
  end
  return count
end

return annotations
