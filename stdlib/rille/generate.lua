-- rille.generate(model, options): samples ids from a causal model, ids [batch, time] -> logits
-- [batch, time, vocab].
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"
local read_options = require "rille.options"

local known = {
  { "tokens", type = "integer", required = true, doc = "how many to sample" },
  { "context", type = "integer", doc = "the most ids that the model sees" },
  { "temperature", 1.0, doc = "0: always the likeliest" },
  { "top_k", type = "integer", doc = "of the k likeliest only" },
  { "start", type = "rille.Tensor|integer[]|integer", doc = "what stands before; else one id 0" },
  { "seed", type = "integer", doc = "of the draws; the run's without" },
}

-- The start as [batch, time]; one id 0 where nothing is given.
local function beginning(start, device)
  if start == nil then return rille.zeros(1, 1, { dtype = "i64", device = device }), true end
  if type(start) == "number" then start = { start } end
  local ids = native.is_tensor(start) and start or rille.tensor(start, { dtype = "i64" })
  ids = ids:to(device):to("i64")
  if ids:dim() == 1 then return ids:unsqueeze(1), true end
  return ids, false
end

-- The next id of each row from logits [batch, vocab].
local function choose(logits, o, generator)
  if o.temperature == 0 then return logits:argmax(-1, { keepdim = true }) end
  logits = logits:to("f32") / o.temperature
  if o.top_k then
    local values = logits:topk(math.min(o.top_k, (logits:size(-1))), -1)
    logits = logits:masked_fill(logits:lt(values:narrow(-1, (values:size(-1)), 1)), -math.huge)
  end
  return logits:softmax(-1):multinomial(1, { generator = generator })
end

-- Returns the ids with the start before them: [time] where the start was one sequence, else
-- [batch, time].
--: model: rille.nn.Module|(fun(ids: rille.Tensor): rille.Tensor) -> rille.Tensor
return function(model, options)
  local o = read_options("generate", options, known)
  if not o.tokens then fail.argument("generate", "'tokens' is missing") end
  local device = type(model) == "table" and model.device or rille.default_device()
  local ids, single = beginning(o.start, device)
  local generator = o.seed and rille.generator(o.seed, { device = device }) or nil
  local was_training = type(model) == "table" and model.training
  local _ <close> = setmetatable({}, {
    __close = function()
      if was_training then model:train() end
    end,
  })
  if was_training then model:eval() end
  local _ <close> = rille.no_grad()
  for _ = 1, o.tokens do
    local time = ids:size(2)
    local seen = ids
    if o.context and time > o.context then
      seen = ids:narrow(2, time - o.context + 1, o.context)
    end
    local logits = model(seen)
    ids = rille.cat({ ids, choose(logits:select(2, -1), o, generator) }, 2)
  end
  return single and ids:squeeze(1) or ids
end
