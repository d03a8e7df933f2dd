-- What a run is, for saving and going on: everything in `self` that has a state_dict, the step,
-- the random numbers and the place in the data.
local rille = require "rille"

local state = {}

local function has_state(value)
  if type(value) ~= "table" then return false end
  local ok, method = pcall(function() return value.state_dict end)
  return ok and type(method) == "function"
end

-- Names and objects, in alphabetical order.
function state.objects(self)
  local names = {}
  for name, value in next, self do
    if name ~= "args" and has_state(value) then names[#names + 1] = name end
  end
  table.sort(names)
  local list = {}
  for i, name in ipairs(names) do list[i] = { name, self[name] } end
  return list
end

-- Every module among them.
function state.modules(self)
  local list = {}
  for _, entry in ipairs(state.objects(self)) do
    if entry[2].parameters and entry[2].train then list[#list + 1] = entry[2] end
  end
  return list
end

function state.collect(self, step, stream)
  local objects = {}
  for _, entry in ipairs(state.objects(self)) do objects[entry[1]] = entry[2]:state_dict() end
  return {
    format = 1, step = step, objects = objects, stream = stream:state(),
    rng = rille.get_rng_state(),
  }
end

-- Returns the step.
function state.restore(self, saved, stream)
  for _, entry in ipairs(state.objects(self)) do
    local own = saved.objects[entry[1]]
    if own then entry[2]:load_state_dict(own) end
  end
  stream:load_state(saved.stream)
  rille.set_rng_state(saved.rng)
  return saved.step
end

return state
