-- A script's own modules, optimizers and tensors, on meta for as long as a scope lasts, and then
-- exactly as they were: values, gradients, state, every field.
local native = require "rille.native"

local aside = {}

-- What a walk does not enter: globals and loaded modules.
local function outside()
  local set = { [_G] = true, [package.loaded] = true }
  for _, module in next, package.loaded do set[module] = true end
  return set
end

-- All tables and tensors that `value` leads to; tables with a copy of their fields.
local function walk(value, tables, tensors, seen)
  local kind = type(value)
  if kind ~= "table" and kind ~= "userdata" or seen[value] then return end
  seen[value] = true
  if native.is_tensor(value) then
    tensors[#tensors + 1] = value
  elseif kind == "table" then
    local fields = {}
    for key, field in next, value do fields[key] = field end
    tables[#tables + 1] = { value, fields }
    for key, field in next, fields do
      walk(key, tables, tensors, seen)
      walk(field, tables, tensors, seen)
    end
  end
end

local function restore_fields(t, fields)
  for key in next, t do
    if fields[key] == nil then rawset(t, key, nil) end
  end
  for key, value in next, fields do
    if not rawequal(rawget(t, key), value) then rawset(t, key, value) end
  end
end

local function restore(self)
  for _, entry in ipairs(self.tables) do restore_fields(entry[1], entry[2]) end
  for _, entry in ipairs(self.tensors) do
    native.set_data(entry.tensor, entry.data)
    entry.tensor.grad = entry.grad
  end
end

local Scope = { __name = "Scope", __close = function(self) native.unit(restore, self) end }

-- The bytes of the tensors in the scope, gradients among them.
Scope.__index = { bytes = function(self) return self.sum end }

-- `list` is what goes to meta: modules, optimizers, tensors, tables of them. Gives the scope.
function aside.on_meta(list)
  local self = setmetatable({ tables = {}, tensors = {}, sum = 0 }, Scope)
  local found = {}
  walk(list, self.tables, found, outside())
  for _, t in ipairs(found) do
    if t.device ~= "meta" and t.is_leaf then
      local grad = t.grad
      self.tensors[#self.tensors + 1] = { tensor = t, data = t:detach(), grad = grad }
      self.sum = self.sum + t:nbytes() + (grad and grad:nbytes() or 0)
    end
  end
  return self
end

-- Sends them there: apart from on_meta, so that the scope is closed where this ends early.
function Scope.__index:move()
  for _, entry in ipairs(self.tensors) do
    native.set_data(entry.tensor, entry.data:to "meta")
  end
end

return aside
