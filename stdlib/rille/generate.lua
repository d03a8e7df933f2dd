-- rille.generate(model, options): samples ids from a causal model, ids [batch, time] -> logits
-- [batch, time, vocab].
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"
local read_options = require "rille.options"

local known = {
  { "tokens", type = "integer", required = true, min = 0, doc = "how many to sample" },
  { "context", type = "integer", min = 1, doc = "the most ids that the model sees" },
  { "temperature", 1.0, min = 0, doc = "0: always the likeliest" },
  { "top_k", type = "integer", min = 1, doc = "of the k likeliest only" },
  { "start", type = "integer|integer[]|rille.Tensor", doc = "what stands before; else one id 0" },
  { "seed", type = "integer", doc = "of the draws; the run's without" },
}

local function check_model(model)
  local meta = getmetatable(model)
  if type(model) == "function" or type(meta) == "table" and rawget(meta, "__call") then return end
  fail.type("generate", "model", "a module or a function", model)
end

-- The start as [batch, time]; one id 0 where nothing is given.
local function beginning(start, device)
  if start == nil then return rille.zeros(1, 1, { dtype = "i64", device = device }), true end
  if type(start) == "number" then start = { start } end
  if type(start) ~= "table" and not native.is_tensor(start) then
    fail.type("generate", "start", "an id, a list of ids or a tensor", start)
  end
  local ids = native.is_tensor(start) and start or rille.tensor(start, { dtype = "i64" })
  ids = ids:to(device):to("i64")
  local dims = ids:dim()
  if dims < 1 or dims > 2 or ids:numel() == 0 then
    fail.raise {
      kind = "shape", code = "E_SHAPE", op = "generate",
      message = ("'start' must be [time] or [batch, time] with an id or more, got [%s]"):format(
        table.concat(ids:shape(), ", ")),
    }
  end
  return dims == 1 and ids:unsqueeze(1) or ids, dims == 1
end

local function logits_of(model, ids)
  local logits = model(ids)
  if not native.is_tensor(logits) or logits:dim() ~= 3 then
    fail.type("generate", "model(ids)", "a tensor [batch, time, vocab]", logits)
  end
  return logits:select(2, -1)
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
  check_model(model)
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
    ids = rille.cat({ ids, choose(logits_of(model, seen), o, generator) }, 2)
  end
  return single and ids:squeeze(1) or ids
end
