-- What a run is, for saving and going on: all that the next step needs. Objects in `self` that have
-- a state_dict, its generators and plain values, the modes of its modules, the place in the data,
-- both streams of random numbers, the step.
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"
local fault = require "rille.recipe.fault"
local fields = require "rille.recipe.fields"
local modes = require "rille.recipe.modes"
local objects = require "rille.recipe.objects"
local random_state = require "rille.random_state"

local state = {}

-- Raises an error for what `self` holds and no checkpoint can: better after the first step than
-- when a run has gone on without it.
function state.check_fields(run)
  local list, faults = fields.changed(run.self, run.mark)
  if not faults[1] then return list end
  fail.raise {
    kind = "state", code = "E_STATE", op = "recipe", facts = faults,
    message = "'self' was given what no checkpoint can hold",
    hint = "make it in setup, or keep it in a local variable if no later step needs it",
  }
end

-- The step is done; `mark` is what `self` held after setup.
function state.collect(run, step)
  local self, dicts, generators = run.self, {}, {}
  local list = objects.with_state(self)
  for _, entry in ipairs(list) do dicts[entry[1]] = entry[2]:state_dict() end
  for _, entry in ipairs(objects.generators(self)) do generators[entry[1]] = entry[2]:state() end
  return {
    format = fault.format, step = step, objects = dicts, generators = generators,
    fields = state.check_fields(run), modes = modes.of(list),
    stream = run.stream:state(), random = random_state.get(), recipe = run.fields.name,
    args = run.plain_args, version = rille.version, threads = rille.threads(),
    device = rille.default_device(), skipped = run.nonfinite.skipped,
    skipped_in_a_row = run.nonfinite.in_a_row,
  }
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

-- An object that was given what it can't read says so in its own words, or fails somewhere within.
local function load_object(name, object, saved)
  local ok, err = pcall(object.load_state_dict, object, saved)
  if ok then return end
  if type(err) ~= "string" then error(err, 0) end
  fail.raise {
    kind = "data", code = "E_FORMAT", op = "resume", status = 4, facts = { err },
    message = ("the checkpoint's state of '%s' can't be read"):format(name),
  }
end

-- Puts everything back. One error names all that one side lacks, before anything has changed.
function state.restore(run, saved)
  local self, facts = run.self, {}
  local list, generators = objects.with_state(self), objects.generators(self)
  differences("state of", list, saved.objects, facts)
  differences("generator", generators, saved.generators, facts)
  local faults = {}
  for name, value in pairs(saved.fields) do
    faults[#faults + 1] = fields.fault(value, rawget(self, name), name)
  end
  table.sort(faults)
  table.move(faults, 1, #faults, #facts + 1, facts)
  if #facts > 0 then
    fail.raise {
      kind = "state", code = "E_STATE", op = "resume", facts = facts,
      message = "the checkpoint is of another recipe, or of an earlier one",
    }
  end
  for _, entry in ipairs(list) do load_object(entry[1], entry[2], saved.objects[entry[1]]) end
  for _, entry in ipairs(generators) do entry[2]:set_state(saved.generators[entry[1]]) end
  fields.restore(self, saved.fields, run.device)
  modes.set(list, saved.modes)
  run.stream:load_state(saved.stream)
  random_state.set(saved.random)
  run.nonfinite.skipped, run.nonfinite.in_a_row = saved.skipped, saved.skipped_in_a_row
end

return state
