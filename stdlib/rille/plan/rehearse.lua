-- The first step of a recipe on meta: what each part of it takes, and the most at once.
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"
local loss_of = require "rille.recipe.loss"
local mixed = require "rille.recipe.mixed"
local nn_utils = require "rille.nn.utils"
local objects = require "rille.recipe.objects"
local rehearsal = require "rille.rehearsal"
local settings = require "rille.recipe.settings"
local Stream = require "rille.recipe.stream"

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

local function optimizers_of(self)
  local list = {}
  for _, entry in ipairs(objects.with_state(self)) do
    if entry[2].groups and entry[2].state_of then list[#list + 1] = entry[2] end
  end
  return list
end

-- What setup leaves on the cpu, and a step takes, goes to meta: parameters that it made by hand,
-- and tensors in the fields of `self`.
local function move(self)
  for _, module in ipairs(objects.modules(self)) do module:to "meta" end
  for _, optimizer in ipairs(optimizers_of(self)) do
    for _, group in ipairs(optimizer.groups) do
      for _, t in ipairs(group.params) do
        if t.device ~= "meta" then native.set_data(t, t:detach():to "meta") end
      end
    end
  end
  for name, value in next, self do
    if native.is_tensor(value) and value.is_leaf and not value.requires_grad then
      rawset(self, name, value:to "meta")
    end
  end
end

local function set_up(recipe, values)
  local fields = settings.apply(recipe, values)
  local self = setmetatable({ args = values }, { __index = fields })
  local run = { recipe = recipe, fields = fields, self = self, values = values, device = "meta" }
  native.stand_in(self.setup)
  self.setup(self, values)
  native.stand_in(nil)
  if not self.optimizer then fail.state("recipe", "setup must set self.optimizer") end
  local stream = Stream.new(self.batches(self, values, "train"), nil, self.batches)
  run.batch = stream:next "meta"
  move(self)
  mixed.set_up(run)
  return run
end

local function parameters_of(run)
  local list = {}
  for _, optimizer in ipairs(optimizers_of(run.self)) do
    for _, group in ipairs(optimizer.groups) do
      for _, t in ipairs(group.params) do list[#list + 1] = t end
    end
  end
  return list
end

-- As recipe.loop does it, but for a scaler, which asks for values.
local function step(run, parameters)
  local loss = mixed.within(run, loss_of, run.self, run.batch)
  local forward = rehearsal.figures()
  loss:backward()
  if run.fields.clip then nn_utils.clip_grad_norm_(parameters, run.fields.clip) end
  run.self.optimizer:step()
  return forward
end

local function state_bytes(run, seen)
  local sum = 0
  for _, optimizer in ipairs(optimizers_of(run.self)) do
    for _, state in pairs(optimizer.state) do
      for _, t in pairs(state) do
        if native.is_tensor(t) then sum = sum + bytes_of({ t }, seen) end
      end
    end
  end
  return sum
end

-- Two steps: the second has the optimizer's state from its beginning, as every later one has. Gives
-- a table of figures, in bytes but for `parameters` and `flops`.
local function count(recipe, values)
  local run = set_up(recipe, values)
  local _ <close> = rille.device "meta"
  local parameters, seen = parameters_of(run), {}
  step(run, parameters)
  run.self.optimizer:zero_grad()
  collectgarbage()
  local base = rehearsal.figures()
  rehearsal.from_here()
  local forward = step(run, parameters)
  local _, peak, flops = rehearsal.figures()
  local gradients, buffers, numbers = {}, {}, 0
  for _, t in ipairs(parameters) do
    gradients[#gradients + 1], numbers = t.grad, numbers + t:numel()
  end
  for _, module in ipairs(objects.modules(run.self)) do
    for _, t in module:named_buffers() do buffers[#buffers + 1] = t end
  end
  return {
    numbers = numbers, parameters = bytes_of(parameters, seen), buffers = bytes_of(buffers, seen),
    gradients = bytes_of(gradients, {}), optimizer = state_bytes(run, seen),
    activations = forward - base, peak = peak, flops = flops,
  }
end

return function(recipe, values) return rehearsal.within(count, recipe, values) end
