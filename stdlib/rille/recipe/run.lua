-- Carries out a recipe: require "rille.recipe.run"(recipe, words, script) returns the exit status.
-- `words` are those of the command line after the file; `script` is the file's path, where there
-- is one.
local rille = require "rille"
local native = require "rille.native"
local blocks = require "rille.recipe.blocks"
local fail = require "rille.fail"
local Bar = require "rille.progress.bar"
local Folder = require "rille.recipe.folder"
local Stream = require "rille.recipe.stream"
local arguments = require "rille.recipe.arguments"
local evaluate = require "rille.recipe.evaluate"
local fields_of = require "rille.recipe.fields"
local instead = require "rille.plan.instead"
local loop = require "rille.recipe.loop"
local mixed = require "rille.recipe.mixed"
local objects = require "rille.recipe.objects"
local random_state = require "rille.random_state"
local resume = require "rille.recipe.resume"
local settings = require "rille.recipe.settings"
local state = require "rille.recipe.state"

-- A value that the engine refuses is a wrong flag.
local function apply(flag, set, value)
  local ok, err = pcall(set, value)
  if not ok then fail.usage(flag, err.message or tostring(err)) end
end

local function prepare_engine(values)
  if values.threads then apply("--threads", rille.threads, values.threads) end
  apply("--device", rille.default_device, values.device)
  if values.deterministic then rille.use_deterministic(true) end
  random_state.seed(values.seed)
end

local function parameters_of(optimizer)
  local list = {}
  for _, group in ipairs(optimizer.groups) do
    for _, t in ipairs(group.params) do list[#list + 1] = t end
  end
  return list
end

-- The steps to do: the flag or the recipe's default, else the epochs of a finite source.
local function steps_of(run)
  local values, source = run.values, run.stream.source
  if values.fast_dev_run then return 1 end
  if values.steps then return values.steps end
  local ok, count = pcall(function() return #source end)
  if type(source) == "function" or not ok then
    local hint = "give --steps, or `steps` in the recipe's args"
    fail.usage("recipe", "the number of steps is missing", hint)
  end
  return count * (rawget(values, "epochs") or 1)
end

-- The first n batches again and again.
local function overfit(run, n)
  local batches = {}
  for i = 1, n do batches[i] = run.stream:next(run.device) end
  run.overfit = batches
  run.stream = Stream.new(batches)
end

local function set_up(recipe, values)
  local fields = settings.apply(recipe, values)
  local self = setmetatable({ args = values }, { __index = fields })
  local run = { recipe = recipe, fields = fields, self = self, values = values }
  run.nonfinite = { skipped = 0, in_a_row = 0 }            -- steps that were left out
  run.plain_args = arguments.plain(values)
  prepare_engine(values)
  run.device = rille.default_device()
  native.stand_in(self.setup)
  self.setup(self, values)
  if not self.optimizer and not values.eval_only then
    fail.state("recipe", "setup must set self.optimizer")
  end
  objects.check_made(self)
  native.stand_in(nil)
  mixed.set_up(run)
  blocks.set_up(run)
  local function on_epoch(epoch)
    if fields.on and fields.on.epoch then fields.on.epoch(self, epoch) end
  end
  native.stand_in(self.batches)
  run.stream = Stream.new(self.batches(self, values, "train"), on_epoch, self.batches)
  native.stand_in(nil)
  if values.overfit_batches then overfit(run, values.overfit_batches) end
  run.parameters = self.optimizer and parameters_of(self.optimizer)
  run.first, run.steps = 1, steps_of(run)
  objects.check_optimizers(self)
  for _, module in ipairs(objects.modules(self)) do module:train() end
  run.mark = fields_of.marked(self)
  return run
end

local function write_config(run, script)
  run.folder:config {
    recipe = run.fields.name, args = run.plain_args, steps = run.steps, first = run.first,
    version = rille.version, started = os.date "!%Y-%m-%dT%H:%M:%SZ",
  }
  if run.folder:keep_script(script) then
    io.stderr:write(("'%s' has changed since the run began\n"):format(native.shown(script)))
  end
end

-- One step, one evaluation, one save and one load, in a folder that goes again.
local function fast_dev_run(run)
  local path = os.tmpname()
  os.remove(path)
  run.folder = Folder.create(path, run.fields, {})
  local status = loop(run)
  state.restore(run, rille.load(run.folder.checkpoints:path(1)))
  run.folder:close()
  native.remove_all(path)
  print "fast dev run: one step, one evaluation, one save and load: ok"
  return status
end

local function evaluate_only(run)
  local loss, text = evaluate(run)
  print(("val_loss %.6f"):format(loss))
  if text then print(text) end
  return 0
end

-- What a run holds open is closed however it ends.
local closing = { __close = function(run) if run.folder then run.folder:close() end end }

return function(recipe, words, script)
  if instead.command then return instead.carry_out(recipe, words, script) end
  local values, help = settings.read(recipe, words)
  if not values then
    print(("usage: rille run %s [flags]\n%s"):format(script or recipe.name, help))
    return 0
  end
  local run <close> = setmetatable(set_up(recipe, values), closing)
  if values.resume then resume(run) end
  if values.eval_only then return evaluate_only(run) end
  run.bar = Bar.new(run.fields.name, run.steps, { done = run.first - 1 })
  if values.fast_dev_run then return fast_dev_run(run) end
  local save = run.fields.save or {}
  run.folder = run.folder or Folder.create(values.out, run.fields, save, values.force)
  write_config(run, script)
  return loop(run)
end
