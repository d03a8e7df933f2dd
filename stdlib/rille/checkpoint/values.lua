-- The tensors among values of any kind, apart from the rest: plain tables are looked into, whatever
-- has a metatable is one value. So the tensors can go where tensors are kept, and the rest waits
-- here, as it was.
local native = require "rille.native"

local values = {}

-- The place of a tensor in the list.
local Place = {}

local function part(value, into, copies)
  if native.is_tensor(value) then
    local place = into.places[value]
    if not place then
      into.list[#into.list + 1] = value
      place = setmetatable({ #into.list }, Place)
      into.places[value] = place
    end
    return place
  end
  if type(value) ~= "table" or getmetatable(value) ~= nil then return value end
  if copies[value] then return copies[value] end
  local copy = {}
  copies[value] = copy
  for key, item in next, value do copy[key] = part(item, into, copies) end
  return copy
end

-- table.pack's `packed` as a form without tensors, and the list of these.
function values.take_apart(packed)
  local into = { list = {}, places = {} }
  local form, copies = { n = packed.n }, {}
  for i = 1, packed.n do form[i] = part(packed[i], into, copies) end
  return form, into.list
end

local function whole(value, list, copies)
  if getmetatable(value) == Place then return list[value[1]] end
  if type(value) ~= "table" or getmetatable(value) ~= nil then return value end
  if copies[value] then return copies[value] end
  local copy = {}
  copies[value] = copy
  for key, item in next, value do copy[key] = whole(item, list, copies) end
  return copy
end

-- The values of a form, with these tensors: fresh tables each time.
function values.put_together(form, list)
  local packed, copies = { n = form.n }, {}
  for i = 1, form.n do packed[i] = whole(form[i], list, copies) end
  return packed
end

return values
