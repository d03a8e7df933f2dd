-- The training step of the big GPT (W5) with each of its blocks a checkpoint block, in f32 and
-- under bf16 autocast. `memory` is the peak of the process that ran the step in f32.
local rille = require "rille"
local measure = require "measure"
local models = require "models"

local o = { vocab = 65, layers = 6, heads = 6, width = 384, context = 256, batch = 8 }

local function case(name, wrap)
  if not measure.wants(name) then return end
  local model = models.GPT(o)
  for _, block in ipairs(model.blocks) do rille.nn.Checkpoint(block) end
  local parameters, optimizer = model:parameters(), models.adamw(model)
  local forward = wrap and wrap(function(x, y) return model(x, y) end) or model
  local x = rille.randint(0, o.vocab - 1, o.batch, o.context)
  local y = rille.randint(0, o.vocab - 1, o.batch, o.context)
  measure.case(name, function()
    models.train_step(forward, parameters, optimizer, x, y)
  end)
end

case "step"
if measure.wants "step" then measure.report("memory", { measure.peak_mb() }, "MB") end
case("step_bf16", measure.bf16)
