-- Mixed precision of a run, as --amp or the recipe's field `amp` asks for: bf16 and f16 compute the
-- loss in an autocast scope, f16 with a GradScaler around backward and step, f8 with the model's
-- linear layers in eight bits besides.
local rille = require "rille"
local fail = require "rille.fail"
local nn_utils = require "rille.nn.utils"
local objects = require "rille.recipe.objects"

local mixed = {}

-- Where `self` keeps the scaler, so that checkpoints hold its scale.
local place = "grad_scaler"

-- After setup: what the run computes in.
function mixed.set_up(run)
  local wanted, self = run.fields.amp or "off", run.self
  if wanted == "off" then return end
  run.autocast = { device = run.device, dtype = wanted == "f16" and "f16" or "bf16" }
  if wanted == "f8" then
    for _, module in ipairs(objects.modules(self)) do rille.amp.f8.convert(module) end
  elseif wanted == "f16" and self.optimizer then
    if rawget(self, place) ~= nil then
      fail.state("recipe", "--amp f16 keeps its scaler in self.%s, which setup has set", place)
    end
    run.scaler = rille.amp.GradScaler { device = run.device }
    self[place] = run.scaler
  end
end

-- What f(...) gives, in the run's autocast scope.
function mixed.within(run, f, ...)
  if not run.autocast then return f(...) end
  return rille.amp.autocast(run.autocast, f, ...)
end

function mixed.backward(run, loss)
  if run.scaler then loss = run.scaler:scale(loss) end
  loss:backward()
end

-- Clips where the recipe says so, and steps; returns the norm of the gradients if it was asked for.
function mixed.step(run)
  local optimizer, scaler, norm = run.self.optimizer, run.scaler, nil
  if run.fields.clip then
    if scaler then scaler:unscale_(optimizer) end
    norm = nn_utils.clip_grad_norm_(run.parameters, run.fields.clip)
  end
  if not scaler then
    optimizer:step()
    return norm
  end
  scaler:step(optimizer)
  scaler:update()
  return norm
end

return mixed
