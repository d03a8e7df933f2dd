-- LuaCATS files for editors: what `rille` and all in it take and give, from the ops' and layers'
-- own declarations, the sources of the standard library and the table of types for what is written
-- in C++. `rille help --luacats DIR` writes them, the build does, too.
local native = require "rille.native"
local rille = require "rille"
local classes = require "rille.annotations.classes"
local describe = require "rille.annotations.describe"
local natives = require "rille.annotations.natives"
local ops = require "rille.annotations.ops"
local Writer = require "rille.annotations.write"

local annotations = {}

local dtypes = { "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool" }

-- The names that a table of the library shows, in order.
local function names_of(t)
  local meta = getmetatable(t)
  if meta and rawget(meta, "names") then return meta.names() end
  local names = {}
  for name in pairs(t) do
    if type(name) == "string" and name:sub(1, 2) ~= "__" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end
annotations.names_of = names_of

local function schema()
  local told = native.schema()
  local by_name = {}
  for _, op in ipairs(told.ops) do by_name[op.name] = op end
  return { ops = by_name, layers = told.layers, list = told.ops }
end

local function is_class(value)
  local meta = getmetatable(value)
  return meta and rawget(meta, "__call") and value.forward ~= nil
end

-- Options of what the library makes in a loop from a table.
local function known_options(path, name)
  if path == "rille.optim" then
    local kind = require "rille.optim.kinds"[name]
    return kind and kind.options
  elseif path == "rille.optim.lr" then
    local curve = require "rille.optim.curves"[name]
    return curve and curve.options
  end
end

local begin = {}                         -- what a file has before its names

function begin.rille(w)
  local words = {}
  for i, name in ipairs(dtypes) do words[i] = '"' .. name .. '"' end
  w:line("---@alias rille.dtype %s", table.concat(words, "|"))
  w:line ""
  w:line "---@class rille.Generator"
  w:line "---@field seed fun(self: rille.Generator, seed: integer)"
  w:line "---@field state fun(self: rille.Generator): integer[]"
  w:line "---@field set_state fun(self: rille.Generator, state: integer[])"
  w:line ""
  w:line "---@class rille.Recipe"
  w:line "---@field name string"
  w:line "---@field run fun(self: rille.Recipe, words?: string[]): integer"
  w:line ""
end

-- Objects that functions of a file give, by the module that is their class.
local objects = {
  ["rille.optim"] = { name = "Optimizer", module = "rille.optim.optimizer" },
  ["rille.data"] = { name = "DataLoader", module = "rille.data.loader" },
}

local function write_object(w, path)
  local object = objects[path]
  if not object then return end
  local class = require(object.module)
  w:line("---@class %s.%s", path, object.name)
  w:line "---@field [string] any"
  w:line "---@overload fun(...): any"
  w:line("local %s = {}", object.name)
  w:line ""
  for _, key in ipairs(names_of(class)) do
    if type(class[key]) == "function" and key ~= "new" then
      local full = ("%s.%s.%s"):format(path, object.name, key)
      describe.func(w, object.name .. ":" .. key, full, class[key])
    end
  end
end

local files = {}

-- One file for a table of the library; tables in it get files of their own.
local function write_module(path, t, told, out)
  local w = Writer.new()
  w:line("---@meta %s", path)
  w:line ""
  if begin[path] then begin[path](w) end
  write_object(w, path)
  w:line("---@class %s", path)
  w:line "local M = {}"
  w:line ""
  for _, name in ipairs(names_of(t)) do
    local value, full = t[name], path .. "." .. name
    if type(value) == "table" and name == "Module" then
      classes.base(w, value)
    elseif type(value) == "table" and is_class(value) then
      classes.write(w, name, value, told)
    elseif type(value) == "table" and getmetatable(value) and getmetatable(value).__call then
      w:line("---@class %s", full)
      w:line "---@overload fun(iterable: any, options?: string|table): any"
      w:line("M.%s = {}", name)
      w:line ""
      for _, key in ipairs(names_of(value)) do
        if type(value[key]) == "function" then
          describe.func(w, ("M.%s.%s"):format(name, key), full .. "." .. key, value[key])
        end
      end
    elseif type(value) == "table" then
      w:line("---@type %s", full)
      w:line("M.%s = {}", name)
      w:line ""
      write_module(full, value, told, out)
    elseif type(value) == "function" and path == "rille" and told.ops[name] then
      ops.options(w, told.ops[name])
      ops.func(w, told.ops[name])
    elseif type(value) == "function" then
      describe.func(w, "M." .. name, full, value, known_options(path, name))
    else
      w:line("---@type %s", type(value))
      w:line("M.%s = %s", name, type(value) == "string" and '""' or tostring(value))
      w:line ""
    end
  end
  w:line "return M"
  out[path .. ".d.lua"] = w:text()
end

local operators = {
  { "add", true }, { "sub", true }, { "mul", true }, { "div", true }, { "idiv", true },
  { "mod", true }, { "pow", true }, { "unm" },
}

local function write_tensor(told, out)
  local w = Writer.new()
  w:line "---@meta rille.Tensor"
  w:line ""
  w:doc "An array of one dtype on one device. Dims and positions count from 1."
  w:line "---@class rille.Tensor"
  for _, name in ipairs(names_of(native.tensor_fields)) do
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
  for _, name in ipairs(names_of(native.tensor_methods)) do
    local op = told.ops[name]
    local base = told.ops[name:match "^(.*)_$" or ""]
    if op then
      ops.method(w, op)
    elseif base and base.in_place then
      ops.method(w, base, true)
    else
      describe.func(w, "Tensor:" .. name, "Tensor." .. name, native.tensor_methods[name])
    end
  end
  w:line "return Tensor"
  out["rille.Tensor.d.lua"] = w:text()
end

-- The files by name.
function files.texts()
  local out, told = {}, schema()
  write_module("rille", rille, told, out)
  write_tensor(told, out)
  return out
end
annotations.texts = files.texts

-- Writes them into a folder, which is made; gives how many there are.
function annotations.write(folder)
  native.mkdirs(folder)
  local count = 0
  for name, text in pairs(files.texts()) do
    native.write_file(folder .. "/" .. name, text)
    count = count + 1
  end
  return count
end

return annotations
