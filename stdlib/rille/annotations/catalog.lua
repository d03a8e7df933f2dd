-- All that the library has, as places { path, name, kind, value }: found by full name
-- ("rille.optim.AdamW", "Tensor.sum") or by value. What a place does and takes is described when it
-- is first asked for. Annotations, help and completion read this one list.
local native = require "rille.native"
local rille = require "rille"
local classes = require "rille.annotations.classes"
local declared = require "rille.annotations.declared"
local describe = require "rille.annotations.describe"
local ops = require "rille.annotations.ops"

local catalog = {}

-- Objects that functions of a table give, by the module that is their class.
local objects = {
  ["rille.optim"] = {
    { name = "Optimizer", module = "rille.optim.optimizer" },
    { name = "FusedBackward", module = "rille.optim.fused" },
  },
  ["rille.optim.lr"] = { { name = "Schedule", module = "rille.optim.schedule" } },
  ["rille.memory"] = { { name = "MemoryWatch", module = "rille.memory.watch" } },
  ["rille.amp"] = { { name = "GradScaler", module = "rille.amp.grad_scaler" } },
  ["rille.data"] = { { name = "DataLoader", module = "rille.data.loader" } },
}

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
catalog.names_of = names_of

local schema
function catalog.schema()
  if not schema then
    local told = native.schema()
    schema = { ops = {}, layers = told.layers }
    for _, op in ipairs(told.ops) do schema.ops[op.name] = op end
  end
  return schema
end

local function kind_of(path, name, value)
  local meta = getmetatable(value)
  if type(value) == "function" then
    return path == "rille" and catalog.schema().ops[name] and "op" or "function"
  elseif type(value) ~= "table" then
    return "value"
  elseif name == "Module" or meta and rawget(meta, "__call") and value.forward ~= nil then
    return "class"
  end
  return meta and rawget(meta, "__call") and "callable" or "table"
end

local by_path, by_value

local function put(place)
  by_path[place.path] = place
  if place.kind ~= "value" and not by_value[place.value] then by_value[place.value] = place end
  return place
end

-- Functions of a class or of an object's.
local function put_methods(owner, class, skipped)
  local list = {}
  for _, key in ipairs(names_of(class)) do
    local f = class[key]
    if type(f) == "function" and key ~= skipped then
      list[#list + 1] = put {
        path = owner .. "." .. key, name = key, kind = "function", value = f, method = true,
      }
    end
  end
  return list
end

local function put_table(path, name, t)
  local place = put { path = path, name = name, kind = "table", value = t, places = {} }
  place.objects = {}
  for i, object in ipairs(objects[path] or {}) do
    local class = require(object.module)
    local full = path .. "." .. object.name
    place.objects[i] = put { path = full, name = object.name, kind = "object", value = class }
    place.objects[i].places = put_methods(full, class, "new")
  end
  for i, key in ipairs(names_of(t)) do
    local value, full = t[key], path .. "." .. key
    local kind = kind_of(path, key, value)
    if kind == "table" then
      place.places[i] = put_table(full, key, value)
    else
      place.places[i] = put { path = full, name = key, kind = kind, value = value }
      if kind == "class" then place.places[i].places = put_methods(full, value) end
      if kind == "callable" then place.places[i].places = put_methods(full, value) end
    end
    place.places[i].owner = path
  end
  return place
end

-- Methods of tensors: of ops, of ops in place, others.
local function put_tensor()
  local told, methods = catalog.schema().ops, {}
  for _, name in ipairs(names_of(native.tensor_methods)) do
    local base = told[name:match "^(.*)_$" or ""]
    local op = told[name] or base and base.in_place and base or nil
    methods[#methods + 1] = put {
      path = "Tensor." .. name, name = name, kind = op and "op" or "function", op = op,
      in_place = op and op ~= told[name], value = native.tensor_methods[name], method = true,
    }
  end
  by_path.Tensor = { path = "Tensor", name = "Tensor", kind = "object", places = methods }
end

local function build()
  if by_path then return end
  by_path, by_value = {}, {}
  put_table("rille", "rille", rille)
  put_tensor()
end

-- The place of a full name, or nil.
function catalog.at(path)
  build()
  return by_path[path]
end

-- The place of a function, class or table of the library, or nil.
function catalog.of(value)
  build()
  return by_value[value]
end

-- Iterates full names and places.
function catalog.all()
  build()
  return next, by_path
end

-- What stands at a place does and takes: { path, doc, params, results, options }; nil for a table
-- or a plain value.
function catalog.entry(place)
  if place.entry then return place.entry end
  local entry
  if place.kind == "op" then
    local op = place.op or catalog.schema().ops[place.name]
    entry = place.method and ops.method(op, place.in_place) or ops.func(op)
  elseif place.kind == "class" then
    entry = classes.entry(place.path, place.name, place.value, catalog.schema())
  elseif place.kind == "function" then
    local known = place.owner and declared(place.owner, place.name)
    entry = describe.func(place.path, place.value, known)
  elseif place.kind == "callable" then
    entry = describe.func(place.path, getmetatable(place.value).__call)
    table.remove(entry.params, 1)                        -- the table itself
  end
  place.entry = entry
  return entry
end

return catalog
