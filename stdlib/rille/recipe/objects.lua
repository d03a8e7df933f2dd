-- What a run holds that keeps a state of its own: objects with a state_dict, and generators. They
-- are found in the fields of `self` and in plain tables there, under dotted names; one that is held
-- twice counts once.
local native = require "rille.native"
local fail = require "rille.fail"
local parameter = require "rille.parameter"

local objects = {}

local function has_method(value, name)
  local ok, method = pcall(function() return value[name] end)
  return ok and type(method) == "function"
end

function objects.has_state(value)
  return type(value) == "table" and has_method(value, "state_dict")
end

function objects.is_generator(value)
  return type(value) == "userdata" and not native.is_tensor(value)
    and has_method(value, "set_state")
end

-- A table that is no object of any class.
function objects.is_plain_table(value)
  return type(value) == "table" and not getmetatable(value) and not objects.has_state(value)
end

-- The dotted name of what a table holds under a key.
function objects.name_in(name, key)
  if type(key) == "string" and key:match "^[%a_][%w_]*$" or math.type(key) == "integer" then
    return name .. "." .. key
  end
  local shown = type(key) == "string" and ("%q"):format(key) or tostring(key)
  return name .. "[" .. shown .. "]"
end

local function sorted(found)
  table.sort(found, function(a, b) return a[1] < b[1] end)
  return found
end

-- Names and what is wanted, by name; the shallowest name of a thing is its name.
local function named(self, wanted)
  local list, level, seen = {}, {}, { [self] = true }
  local function add(list_of, name, value)
    local kind = type(value)
    if kind == "table" or kind == "userdata" then list_of[#list_of + 1] = { name, value } end
  end
  for name, value in next, self do
    if name ~= "args" and type(name) == "string" then add(level, name, value) end
  end
  while level[1] do
    local deeper = {}
    for _, entry in ipairs(sorted(level)) do
      local name, value = entry[1], entry[2]
      if not seen[value] then
        seen[value] = wanted(value) or nil
        if seen[value] then
          list[#list + 1] = entry
        elseif objects.is_plain_table(value) then
          seen[value] = true
          for key, part in next, value do add(deeper, objects.name_in(name, key), part) end
        end
      end
    end
    level = deeper
  end
  return sorted(list)
end

-- Modules first, then optimizers, then what may hold on to them: a schedule reads its optimizer
-- when it is restored.
local function rank(object)
  if object.parameters and object.train then return 1 end
  return object.groups and 2 or 3
end

-- Names and objects, in the order in which they are restored.
function objects.with_state(self)
  local list = named(self, objects.has_state)
  table.sort(list, function(a, b)
    local ra, rb = rank(a[2]), rank(b[2])
    if ra ~= rb then return ra < rb end
    return a[1] < b[1]
  end)
  return list
end

function objects.generators(self)
  return named(self, objects.is_generator)
end

local function of_rank(self, wanted)
  local list = {}
  for _, entry in ipairs(objects.with_state(self)) do
    if rank(entry[2]) == wanted then list[#list + 1] = entry[2] end
  end
  return list
end

-- Every module among them.
function objects.modules(self)
  return of_rank(self, 1)
end

-- All tensors in a plain table, or the one.
local function gather(value, into, seen)
  if native.is_tensor(value) then
    into[value] = true
  elseif type(value) == "table" and not seen[value] then
    seen[value] = true
    for _, part in next, value do gather(part, into, seen) end
  end
end

-- What is saved of a run, as a set of tensors: those of its modules and other objects, and plain
-- ones in `self`.
local function saved_tensors(self)
  local set, seen = {}, {}
  for _, entry in ipairs(objects.with_state(self)) do
    local object = entry[2]
    if object.parameters then gather(object:parameters(), set, seen) end
    if rank(object) ~= 2 then gather(object:state_dict(), set, seen) end
    seen[object] = true
  end
  local function plain(value)
    if native.is_tensor(value) then set[value] = true end
    if not objects.is_plain_table(value) or seen[value] then return end
    seen[value] = true
    for _, part in next, value do plain(part) end
  end
  for name, value in next, self do
    if name ~= "args" then plain(value) end
  end
  return set
end

local function part(value, name)
  local ok, found = pcall(function() return value[name] end)
  return ok and found or nil
end

-- What the loop calls must be what it is taken for.
function objects.check_made(self)
  local optimizer, schedule = self.optimizer, self.schedule
  local first = part(part(optimizer, "groups"), 1)
  if optimizer ~= nil and not (has_method(optimizer, "step") and has_method(optimizer, "zero_grad")
    and type(part(first, "params")) == "table") then
    fail.type("recipe", "self.optimizer", "an optimizer", optimizer)
  end
  if schedule and not has_method(schedule, "step") then
    fail.type("recipe", "self.schedule", "a schedule", schedule)
  end
end

-- An optimizer of parameters that no checkpoint would hold could not go on: that is an error.
function objects.check_optimizers(self)
  local saved, facts = saved_tensors(self), {}
  for _, optimizer in ipairs(of_rank(self, 2)) do
    for _, group in ipairs(optimizer.groups) do
      for i, t in ipairs(group.params) do
        local name = parameter.name(t) or "params[" .. i .. "]"
        if not saved[t] then
          facts[#facts + 1] = ("'%s', %s[%s]"):format(name, t.dtype,
            table.concat({ t:size() }, ", "))
        end
      end
    end
  end
  if not facts[1] then return end
  fail.raise {
    kind = "state", code = "E_STATE", op = "recipe", facts = facts,
    message = "an optimizer changes parameters that belong to nothing in 'self'",
    hint = "keep their module in a field of self, so that checkpoints hold it",
  }
end

return objects
