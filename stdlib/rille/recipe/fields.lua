-- The plain values that a recipe keeps in `self`: numbers, strings, booleans, tensors, tables of
-- these. Those that setup made come from setup again; those that were assigned since are state, as
-- is all of `self.state`.
local native = require "rille.native"

local fields = {}

local deepest = 32

local function is_plain(value, depth)
  local kind = type(value)
  if kind == "number" or kind == "string" or kind == "boolean" then return true end
  if native.is_tensor(value) then return true end
  if kind ~= "table" or getmetatable(value) or depth > deepest then return false end
  for key, part in next, value do
    local listed = math.type(key) == "integer" and key >= 1 and key <= #value
    if not (listed or type(key) == "string") or not is_plain(part, depth + 1) then return false end
  end
  return true
end

-- What `self` holds now, to tell later what is new.
function fields.marked(self)
  local mark = {}
  for name, value in next, self do mark[name] = value end
  return mark
end

function fields.changed(self, mark)
  local list = {}
  for name, value in next, self do
    local new = name == "state" or not rawequal(value, mark[name])
    if name ~= "args" and type(name) == "string" and new and is_plain(value, 1) then
      list[name] = value
    end
  end
  return list
end

local function moved(value, device)
  if native.is_tensor(value) then return value:to(device) end
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, part in pairs(value) do copy[key] = moved(part, device) end
  return copy
end

function fields.restore(self, saved, device)
  for name, value in pairs(saved) do self[name] = moved(value, device) end
end

fields.moved = moved

return fields
