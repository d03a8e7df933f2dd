-- W4 (small) and W5 (big): the training step of a GPT, in f32 and under bf16 autocast. `memory` is
-- the peak of the big one in f32.
local rille = require "rille"
local measure = require "measure"
local models = require "models"

local function case(name, o, wrap)
  if not measure.wants(name) then return end
  local model = models.GPT(o)
  local parameters, optimizer = model:parameters(), models.adamw(model)
  local forward = wrap and wrap(function(x, y) return model(x, y) end) or model
  local batches, next_batch = {}, 0
  for i = 1, 8 do
    batches[i] = { x = rille.randint(0, o.vocab - 1, o.batch, o.context),
      y = rille.randint(0, o.vocab - 1, o.batch, o.context) }
  end
  measure.case(name, function()
    next_batch = next_batch % #batches + 1
    local batch = batches[next_batch]
    models.train_step(forward, parameters, optimizer, batch.x, batch.y)
  end)
end

local small = { vocab = 65, layers = 4, heads = 4, width = 128, context = 64, batch = 12 }
local big = { vocab = 65, layers = 6, heads = 6, width = 384, context = 256, batch = 8 }

case("small", small)
case("big", big)
if measure.wants "big" then measure.report("memory", { measure.peak_mb() }, "MB") end
case("small_bf16", small, measure.bf16)
case("big_bf16", big, measure.bf16)
