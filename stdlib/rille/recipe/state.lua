-- What a run is, for saving and going on: all that the next step needs. Objects in `self` that have
-- a state_dict, its generators and plain values, the modes of its modules, the place in the data,
-- both streams of random numbers, the step.
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"
local fields = require "rille.recipe.fields"
local modes = require "rille.recipe.modes"
local random_state = require "rille.random_state"

local state = {}

local function has_method(value, name)
  local ok, method = pcall(function() return value[name] end)
  return ok and type(method) == "function"
end

local function has_state(value)
  return type(value) == "table" and has_method(value, "state_dict")
end

local function is_generator(value)
  return type(value) == "userdata" and has_method(value, "set_state")
end

-- Modules first, then optimizers, then what may hold on to them: a schedule reads its optimizer
-- when it is restored.
local function rank(object)
  if object.parameters and object.train then return 1 end
  return object.groups and 2 or 3
end

local function named(self, wanted)
  local list = {}
  for name, value in next, self do
    if name ~= "args" and wanted(value) then list[#list + 1] = { name, value } end
  end
  return list
end

-- Names and objects, in the order in which they are restored.
function state.objects(self)
  local list = named(self, has_state)
  table.sort(list, function(a, b)
    local ra, rb = rank(a[2]), rank(b[2])
    if ra ~= rb then return ra < rb end
    return a[1] < b[1]
  end)
  return list
end

-- Every module among them.
function state.modules(self)
  local list = {}
  for _, entry in ipairs(state.objects(self)) do
    if rank(entry[2]) == 1 then list[#list + 1] = entry[2] end
  end
  return list
end

-- The step is done; `mark` is what `self` held after setup.
function state.collect(run, step)
  local self, dicts, generators = run.self, {}, {}
  local objects = state.objects(self)
  for _, entry in ipairs(objects) do dicts[entry[1]] = entry[2]:state_dict() end
  for _, entry in ipairs(named(self, is_generator)) do generators[entry[1]] = entry[2]:state() end
  return {
    format = 2, step = step, objects = dicts, generators = generators,
    fields = fields.changed(self, run.mark), modes = modes.of(objects),
    stream = run.stream:state(), random = random_state.get(), recipe = run.fields.name,
    args = run.plain_args, version = rille.version, threads = rille.threads(),
    device = rille.default_device(),
  }
end

local parts = {
  "step", "objects", "generators", "fields", "modes", "stream", "random", "recipe", "args",
}

-- Why a file that reads well is no checkpoint of this kind of run; nil where it is.
function state.fault(saved)
  local missing = {}
  for _, name in ipairs(parts) do
    if type(saved) ~= "table" or saved[name] == nil then missing[#missing + 1] = name end
  end
  if #missing == 0 and saved.format == 2 then return nil end
  if #missing == 0 then return ("its format is %s, not 2"):format(tostring(saved.format)) end
  return "no checkpoint of a recipe, or not a whole one: lacks " .. table.concat(missing, ", ")
end

-- Names that only one side has.
local function differences(kind, list, saved, facts)
  local own = {}
  for _, entry in ipairs(list) do
    own[entry[1]] = true
    if saved[entry[1]] == nil then
      facts[#facts + 1] = ("the checkpoint has no %s '%s'"):format(kind, native.shown(entry[1]))
    end
  end
  local extra = {}
  for name in pairs(saved) do
    if not own[name] then extra[#extra + 1] = name end
  end
  table.sort(extra)
  for _, name in ipairs(extra) do
    facts[#facts + 1] = ("the recipe has no %s '%s', which the checkpoint has"):format(kind,
      native.shown(tostring(name)))
  end
end

-- Puts everything back. One error names all that one side lacks, before anything has changed.
function state.restore(run, saved)
  local self, facts = run.self, {}
  local objects, generators = state.objects(self), named(self, is_generator)
  differences("state of", objects, saved.objects, facts)
  differences("generator", generators, saved.generators, facts)
  if #facts > 0 then
    fail.raise {
      kind = "state", code = "E_STATE", op = "resume", facts = facts,
      message = "the checkpoint is of another recipe, or of an earlier one",
    }
  end
  for _, entry in ipairs(objects) do entry[2]:load_state_dict(saved.objects[entry[1]]) end
  for _, entry in ipairs(generators) do entry[2]:set_state(saved.generators[entry[1]]) end
  fields.restore(self, saved.fields, run.device)
  modes.set(objects, saved.modes)
  run.stream:load_state(saved.stream)
  random_state.set(saved.random)
end

return state
