-- Casts of what goes into functions and models and comes out of them: floating tensors, those in
-- tables, and objects that have a method `to`.
local native = require "rille.native"

local values = {}

function values.is_float(t)
  return native.is_tensor(t) and t.dtype:match "^b?f%d" ~= nil
end

-- An object of a script's own may say itself how it is cast; a module or library table may not.
local function cast_method(value)
  local own = rawget(value, "to")
  local meta = getmetatable(value)
  local class = type(meta) == "table" and rawget(meta, "__index")
  if own == nil and type(class) == "table" then own = class.to end
  return type(own) == "function" and own or nil
end

-- f of every floating tensor of `value`; tables are copied, what else there is stays.
function values.map(value, f, object)
  if values.is_float(value) then return f(value) end
  if type(value) ~= "table" then return value end
  local method = cast_method(value)
  if method and object then return object(value, method) end
  if getmetatable(value) ~= nil then return value end
  local copy = {}
  for key, part in pairs(value) do copy[key] = values.map(part, f, object) end
  return copy
end

-- A function that casts its arguments to a dtype.
function values.caster(dtype)
  local function cast(t) return t:to(dtype) end
  local function cast_object(object, method) return method(object, dtype) end
  return function(...)
    local given = table.pack(...)
    for i = 1, given.n do given[i] = values.map(given[i], cast, cast_object) end
    return table.unpack(given, 1, given.n)
  end
end

return values
