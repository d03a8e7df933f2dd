-- Evaluation of a run: the mean loss over the same batches each time, and a sample. It has a
-- random stream of its own, so training goes on as if it had not been.
local rille = require "rille"
local native = require "rille.native"
local Stream = require "rille.recipe.stream"
local loss_of = require "rille.recipe.loss"
local mixed = require "rille.recipe.mixed"
local modes = require "rille.recipe.modes"
local objects = require "rille.recipe.objects"
local random_state = require "rille.random_state"

-- Runs f in eval mode, without gradients, with random numbers of its own.
local function aside(run, f)
  local list = objects.with_state(run.self)
  local before = modes.of(list)
  local _ <close> = setmetatable({}, { __close = function() modes.set(list, before) end })
  for _, module in ipairs(objects.modules(run.self)) do module:eval() end
  local _ <close> = random_state.keep()
  random_state.seed(run.values.seed + 0x5eed)
  local _ <close> = rille.no_grad()
  return f()
end

-- A loader or windows start their first epoch anew; an iterator is asked for again.
local function val_stream(run)
  if run.overfit then return Stream.new(run.overfit) end
  if not run.val_source or type(run.val_source) == "function" then
    native.stand_in(run.self.batches)
    run.val_source = run.self.batches(run.self, run.self.args, "val")
  end
  local stream = Stream.new(run.val_source)
  stream:start(1)
  native.stand_in(nil)
  return stream
end

local function mean_loss(run)
  local stream, sum, weight = val_stream(run), 0.0, 0
  local batches = run.fields.evaluate and run.fields.evaluate.batches
  if not batches then                                    -- all of a finite source
    local ok, count = pcall(function() return #(run.overfit or run.val_source) end)
    batches = ok and count or 20
  end
  for _ = 1, batches do
    local batch = stream:next(run.device)
    sum, weight = sum + loss_of(run.self, batch):item(), weight + 1
  end
  return sum / weight
end

-- Returns the loss of the held-out split and the sample's text (nil without `sample`).
return function(run)
  return aside(run, function()
    local loss = mixed.within(run, mean_loss, run)
    local text = run.self.sample and mixed.within(run, run.self.sample, run.self)
    return loss, text
  end)
end
