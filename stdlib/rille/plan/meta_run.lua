-- A recipe's run on meta, where nothing is computed: its setup, a training step, an evaluation.
-- Within rehearsal.within only.
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"
local loss_of = require "rille.recipe.loss"
local mixed = require "rille.recipe.mixed"
local nn_utils = require "rille.nn.utils"
local objects = require "rille.recipe.objects"
local random_state = require "rille.random_state"
local rehearsal = require "rille.rehearsal"
local settings = require "rille.recipe.settings"
local Stream = require "rille.recipe.stream"

local meta_run = {}

-- The optimizers of a run.
function meta_run.optimizers(run)
  local list = {}
  for _, entry in ipairs(objects.with_state(run.self)) do
    if entry[2].groups and entry[2].state_of then list[#list + 1] = entry[2] end
  end
  return list
end

local function parameters_of(optimizer)
  local list = {}
  for _, group in ipairs(optimizer.groups) do
    for _, t in ipairs(group.params) do list[#list + 1] = t end
  end
  return list
end

-- The parameters of a run, each once: of its optimizers, and those that none of them holds.
function meta_run.parameters(run)
  local list, seen = {}, {}
  local function add(t)
    if not seen[t] then
      seen[t], list[#list + 1] = true, t
    end
  end
  for _, optimizer in ipairs(meta_run.optimizers(run)) do
    for _, t in ipairs(parameters_of(optimizer)) do add(t) end
  end
  for _, module in ipairs(objects.modules(run.self)) do
    for _, t in module:named_parameters() do add(t) end
  end
  return list
end

-- Tensors in a field of `self` and in plain tables there, on meta.
local function on_meta(value, seen)
  if native.is_tensor(value) then
    return value.is_leaf and not value.requires_grad and value:to "meta" or value
  end
  if objects.is_plain_table(value) and not seen[value] then
    seen[value] = true
    for key, part in next, value do value[key] = on_meta(part, seen) end
  end
  return value
end

-- What setup leaves on the cpu, and a step takes, goes to meta: parameters that it made by hand,
-- and tensors in the fields of `self`.
local function move(run)
  local self = run.self
  for _, module in ipairs(objects.modules(self)) do module:to "meta" end
  for _, t in ipairs(meta_run.parameters(run)) do
    if t.device ~= "meta" then native.set_data(t, t:detach():to "meta") end
  end
  for name, value in next, self do
    if name ~= "args" then rawset(self, name, on_meta(value, {})) end
  end
end

-- No such device in any machine is a wrong flag; one that this machine lacks is none.
local function check_device(name)
  for _, pattern in ipairs { "^auto$", "^meta$", "^cpu$", "^cuda$", "^cuda:%d+$" } do
    if name:match(pattern) then return end
  end
  fail.usage("--device", ("'%s' is no device"):format(native.shown(name)))
end

-- The run of a recipe with the arguments `values`. `choice` may hold amp and blocks, which take the
-- place of the recipe's fields. Gives nil and the error where the blocks can't be checkpointed so.
function meta_run.set_up(recipe, values, choice)
  local fields = settings.apply(recipe, values)
  if choice.amp then fields.amp = choice.amp end
  if choice.blocks ~= nil then fields.checkpoint_blocks = choice.blocks end
  local self = setmetatable({ args = values }, { __index = fields })
  local run = { recipe = recipe, fields = fields, self = self, values = values, device = "meta" }
  check_device(values.device)
  random_state.seed(values.seed)
  native.stand_in(self.setup)
  self.setup(self, values)
  if not self.optimizer then fail.state("recipe", "setup must set self.optimizer") end
  objects.check_made(self)
  native.stand_in(self.batches)
  run.stream = Stream.new(self.batches(self, values, "train"), nil, self.batches)
  run.batch = run.stream:next "meta"
  native.stand_in(nil)
  objects.check_optimizers(self)
  move(run)
  mixed.set_up(run)
  if fields.checkpoint_blocks then
    local fine, err = pcall(require "rille.recipe.blocks".set_up, run)
    if not fine then
      if type(err) ~= "table" or err.kind == "interrupt" then error(err, 0) end
      return nil, err
    end
  end
  for _, module in ipairs(objects.modules(self)) do module:train() end
  run.parameters = parameters_of(self.optimizer)
  return run
end

-- As recipe.loop does it, but for a scaler, which asks for values. More than two batches of a step
-- take what two do. Gives the bytes after the first forward and the operations of the step.
function meta_run.step(run)
  local accumulate = run.fields.accumulate or 1
  local forward, work, before = nil, {}, nil
  local _ <close> = rille.device "meta"
  rehearsal.from_here()
  for i = 1, math.min(accumulate, 2) do
    local loss = mixed.within(run, loss_of, run.self, run.batch)
    forward = forward or rehearsal.figures()
    if accumulate > 1 then loss = loss / accumulate end
    loss:backward()
    before = work[i - 1] or 0
    work[i] = select(3, rehearsal.figures())
  end
  if run.fields.clip then nn_utils.clip_grad_norm_(run.parameters, run.fields.clip) end
  run.self.optimizer:step()
  local _, _, all = rehearsal.figures()
  return forward, math.floor(all + (work[#work] - before) * (accumulate - #work))
end

-- The loss of a batch of the other split.
function meta_run.evaluate(run)
  local self = run.self
  for _, module in ipairs(objects.modules(self)) do module:eval() end
  local _ <close> = rille.no_grad()
  native.stand_in(self.batches)
  local stream = Stream.new(self.batches(self, run.values, "val"), nil, self.batches)
  stream:start(1)
  native.stand_in(nil)
  local batch = stream:next "meta"
  local _ <close> = rille.device "meta"
  mixed.within(run, loss_of, self, batch)
end

return meta_run
