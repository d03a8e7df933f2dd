-- The whole run of the small GPT over characters: 2,000 steps with their random windows, the
-- learning rate's schedule and the loss read each step; no evaluation, sampling or saving.
local rille = require "rille"
local measure = require "measure"
local models = require "models"

-- The time does not depend on what the text says, so any million of characters serves.
local kLength, kVocab, kContext, kBatch = 1003854, 65, 64, 12
local steps = measure.args.quick and 100 or 2000

local ids = rille.randint(0, kVocab - 1, kLength, { dtype = "u8" })
local windows = rille.data.windows(ids, { length = kContext, batch = kBatch, shuffle = true })
local model = models.GPT { vocab = kVocab, layers = 4, heads = 4, width = 128, context = kContext }
local parameters, optimizer = model:parameters(), models.adamw(model)
local schedule = rille.optim.warmup_cosine(optimizer, { warmup = 100, steps = steps,
  min_lr = 1e-4 })

local start, step = rille.clock(), 0
for batch in windows:iter() do
  local loss = models.train_step(model, parameters, optimizer, batch.x, batch.y)
  schedule:step()
  local value = loss:item()
  assert(value == value, "the loss is not a number")
  step = step + 1
  if step == steps then break end
end
measure.report("run", { (rille.clock() - start) * 1e3 })
