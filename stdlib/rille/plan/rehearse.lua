-- The first steps of a recipe on meta: what each part of one takes, and the most at once.
local rille = require "rille"
local native = require "rille.native"
local meta_run = require "rille.plan.meta_run"
local objects = require "rille.recipe.objects"
local rehearsal = require "rille.rehearsal"

local steps = 6                                          -- garbage of one may lie in the next

-- Bytes of tensors, each once.
local function bytes_of(list, seen)
  local sum = 0
  for _, t in ipairs(list) do
    if not seen[t] then
      seen[t] = true
      sum = sum + t:nbytes()
    end
  end
  return sum
end

local function state_bytes(run, seen)
  local sum = 0
  for _, optimizer in ipairs(meta_run.optimizers(run)) do
    for _, state in pairs(optimizer.state) do
      for _, t in pairs(state) do
        if native.is_tensor(t) then sum = sum + bytes_of({ t }, seen) end
      end
    end
  end
  return sum
end

local function buffers_of(run)
  local list = {}
  for _, module in ipairs(objects.modules(run.self)) do
    for _, t in module:named_buffers() do list[#list + 1] = t end
  end
  return list
end

local function gradients_of(parameters)
  local list = {}
  for _, t in ipairs(parameters) do list[#list + 1] = t.grad end
  return list
end

-- The most at once in later steps. The second step has the optimizer's state from its beginning, as
-- every later one has; garbage is collected when it would be in a run.
local function peak_of(run)
  local peak = 0
  for i = 1, steps do
    meta_run.step(run)
    local _, most = rehearsal.figures()
    if i > 1 then peak = math.max(peak, most) end
    run.self.optimizer:zero_grad()
  end
  return peak
end

local function collect()
  collectgarbage()
  collectgarbage()                                       -- what the first has finalized
end

-- Modules are on meta, so what is in real memory meanwhile is the data that setup has read.
local function count(recipe, values, choice)
  collect()
  local before = rille.memory.allocated()
  local _ <close> = rehearsal.hints("nothing is computed in a plan, so 'loss' must not read values",
    "make it in setup and keep it in a field of self, whose tensors go to meta")
  local run, err = meta_run.set_up(recipe, values, choice)
  if not run then return nil, err end
  local parameters, seen, numbers = meta_run.parameters(run), {}, 0
  local peak = peak_of(run)
  collect()
  local data = rille.memory.allocated() - before
  local base = rehearsal.figures()
  local forward, flops = meta_run.step(run)
  for _, t in ipairs(parameters) do numbers = numbers + t:numel() end
  local figures = {
    numbers = numbers, parameters = bytes_of(parameters, seen),
    buffers = bytes_of(buffers_of(run), seen), optimizer = state_bytes(run, seen),
    gradients = bytes_of(gradients_of(parameters), {}), activations = forward - base,
    peak = peak + data, flops = flops,
  }
  local named = figures.parameters + figures.buffers + figures.optimizer
  figures.data = math.max(base - named, 0) + data
  return figures
end

-- A table of figures, in bytes but for `numbers` (of parameters) and `flops`; nil and an error
-- where the blocks can't be checkpointed as `choice.blocks` says. `choice` is meta_run.set_up's.
return function(recipe, values, choice)
  return rehearsal.within(count, recipe, values, choice or {})
end
