-- The plain values that a recipe keeps in `self`: numbers, strings, booleans, tensors, tables of
-- these. Those that setup made come from setup again; those that were assigned or changed since are
-- state, as is all of `self.state`.
--
-- In a checkpoint a table is { values, keys }, without keys where they are 1 .. n; a tensor that
-- setup made and that was written to is { changed }, so that whoever holds it sees the value; a
-- field that is gone is { removed }; a table that setup put into itself is { kept }.
local rille = require "rille"
local native = require "rille.native"
local objects = require "rille.recipe.objects"

local fields = {}

local deepest = 24                                       -- a file nests twice as deep, 64 at most

local scalars = { number = true, string = true, boolean = true }

-- What a tensor or a plain table was when it was looked at; all else is told by its identity.
local Look = {}

local function look(value, seen)
  if native.is_tensor(value) then
    return setmetatable({ value = value, version = value.version }, Look)
  end
  if not objects.is_plain_table(value) then return value end
  if seen[value] then return seen[value] end
  local parts = {}
  local now = setmetatable({ value = value, parts = parts }, Look)
  seen[value] = now
  for key, part in next, value do parts[key] = look(part, seen) end
  return now
end

local function is_look_at(before, value)
  return getmetatable(before) == Look and rawequal(before.value, value)
end

local function same(value, before, seen)
  if native.is_tensor(value) then
    return is_look_at(before, value) and value.version == before.version
  end
  if not objects.is_plain_table(value) then
    return rawequal(value, before) or value ~= value and before ~= before
  end
  if not is_look_at(before, value) then return false end
  if seen[value] then return true end
  seen[value] = true
  for key in next, before.parts do
    if rawget(value, key) == nil then return false end
  end
  for key, part in next, value do
    if not same(part, before.parts[key], seen) then return false end
  end
  return true
end

-- What `self` holds now, to tell later what is new.
function fields.marked(self)
  local mark, seen = {}, {}
  for name, value in next, self do
    if name ~= "args" then mark[name] = look(value, seen) end
  end
  return mark
end

-- The keys of a table in an order that is always the same: positions, then the others by name.
local function ordered(value)
  local keys, others, length = {}, {}, #value
  for i = 1, length do keys[i] = i end
  for key in next, value do
    local listed = math.type(key) == "integer" and key >= 1 and key <= length
    if not listed then others[#others + 1] = key end
  end
  table.sort(others, function(a, b)
    if type(a) ~= type(b) then return type(a) < type(b) end
    if type(a) == "number" then return a < b end
    return tostring(a) < tostring(b)
  end)
  return table.move(others, 1, #others, length + 1, keys), length
end

local encoded

local function encoded_table(value, before, name, to)
  if to.open[value] and is_look_at(before, value) then return { kept = true } end
  if to.open[value] or to.depth == deepest then
    local what = to.open[value] and "a table that holds itself" or "nested too deeply"
    to.faults[#to.faults + 1] = ("self.%s is %s"):format(name, what)
    return nil
  end
  to.open[value], to.depth = true, to.depth + 1
  local parts = is_look_at(before, value) and before.parts or {}
  local keys, values = {}, {}
  local order, length = ordered(value)
  for _, key in ipairs(order) do
    local inner = objects.name_in(name, key)
    if not scalars[type(key)] and not same(value[key], parts[key], {}) then
      to.faults[#to.faults + 1] = ("self.%s has a %s as a key"):format(name, type(key))
    elseif scalars[type(key)] then
      local part = encoded(value[key], parts[key], inner, to)
      if part ~= nil then keys[#keys + 1], values[#values + 1] = key, part end
    end
  end
  to.open[value], to.depth = nil, to.depth - 1
  local listed = #keys == length and #order == length
  return { values = values, keys = not listed and keys or nil }
end

-- The value as a checkpoint holds it; nil where it is saved elsewhere or setup makes it.
function encoded(value, before, name, to)
  if scalars[type(value)] then return value end
  if native.is_tensor(value) then
    return is_look_at(before, value) and { changed = value } or value
  end
  if objects.is_plain_table(value) then return encoded_table(value, before, name, to) end
  if objects.has_state(value) or objects.is_generator(value) then return nil end
  if to.all or not rawequal(value, before) then
    to.faults[#to.faults + 1] = ("self.%s is a %s"):format(name, type(value))
  end
end

-- What is state now, by name, and a line for each value that would be and can't be saved.
function fields.changed(self, mark)
  local list, faults = {}, {}
  for name, value in next, self do
    local is_state = name == "state"
    if name ~= "args" and type(name) == "string" and (is_state or not same(value, mark[name], {}))
    then
      local to = { all = is_state, open = {}, depth = 0, faults = faults }
      list[name] = encoded(value, mark[name], name, to)
    end
  end
  for name in next, mark do
    if rawget(self, name) == nil then list[name] = { removed = true } end
  end
  table.sort(faults)
  return list, faults
end

local function moved(value, device)
  if native.is_tensor(value) then return value:to(device) end
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, part in pairs(value) do copy[key] = moved(part, device) end
  return copy
end

local function fits(old, new)
  if not native.is_tensor(old) or old.dtype ~= new.dtype or old:dim() ~= new:dim() then
    return false
  end
  for i = 1, old:dim() do
    if old:size(i) ~= new:size(i) then return false end
  end
  return true
end

-- Why the saved value is none, or not one of this `self`; nil where it is.
function fields.fault(value, old, name)
  if type(value) ~= "table" or value.removed == true or value.kept == true then return nil end
  if value.changed ~= nil then
    return not (native.is_tensor(value.changed) and fits(old, value.changed))
      and ("self.%s is no tensor of the saved shape and dtype"):format(name) or nil
  end
  local keys = value.keys
  local whole = type(value.values) == "table"
  if whole and keys ~= nil then whole = type(keys) == "table" and #keys == #value.values end
  if not whole then
    return ("the value of self.%s is damaged"):format(name)
  end
  for i, part in ipairs(value.values) do
    local key = i
    if keys then key = keys[i] end
    if not scalars[type(key)] or key ~= key then
      return ("the value of self.%s is damaged"):format(name)
    end
    local inner = objects.is_plain_table(old) and old[key] or nil
    local fault = fields.fault(part, inner, objects.name_in(name, key))
    if fault then return fault end
  end
end

local decoded

-- Into the table that is there, for others may hold it, too.
local function decoded_table(saved, old, device)
  local into, given = objects.is_plain_table(old) and old or {}, {}
  for i, part in ipairs(saved.values) do
    local key = i
    if saved.keys then key = saved.keys[i] end
    into[key], given[key] = decoded(part, into[key], device), true
  end
  for key, part in next, into do
    local plain = scalars[type(part)] or native.is_tensor(part) or objects.is_plain_table(part)
    if plain and scalars[type(key)] and not given[key] then into[key] = nil end
  end
  return into
end

function decoded(saved, old, device)
  if type(saved) ~= "table" then return moved(saved, device) end
  if saved.removed then return nil end
  if saved.kept then return old end
  if saved.changed == nil then return decoded_table(saved, old, device) end
  local _ <close> = rille.no_grad()
  old:copy_(saved.changed:to(device))
  return old
end

function fields.restore(self, saved, device)
  for name, value in pairs(saved) do self[name] = decoded(value, rawget(self, name), device) end
end

fields.moved = moved

return fields
