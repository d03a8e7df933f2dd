-- nn.MultiheadAttention(width, heads, options): attention with projections; names and
-- initialisation as in PyTorch (in_proj_weight, or one for each where keys are kdim or values vdim
-- wide; out_proj). Inputs are [batch, time, width] unless batch_first = false; or [time, width].
local rille = require "rille"
local init = require "rille.nn.initialise"
local layers = require "rille.nn.layers"
local module = require "rille.nn.module"
local parameter = require "rille.parameter"
local read_options = require "rille.options"
local check = require "rille.check"
local fail = require "rille.fail"

-- Attention with projections, in several heads.
local MultiheadAttention = module.define "MultiheadAttention"

local known = {
  { "dropout", 0.0 }, { "bias", true },
  { "kdim", type = "integer", doc = "width of the keys" },
  { "vdim", type = "integer", doc = "width of the values" },
  { "batch_first", true, doc = "inputs are [batch, time, width]" },
  { "device", type = "string" }, { "dtype", type = "rille.dtype" },
}

local size = { type = "integer", min = 1 }

--: width: integer, heads: integer
function MultiheadAttention:init(width, heads, options)
  local o = read_options("MultiheadAttention", options, known)
  width = check("MultiheadAttention", "width", width, size)
  heads = check("MultiheadAttention", "heads", heads, size)
  if width % heads ~= 0 then
    fail.argument("MultiheadAttention", "'width' %d is no multiple of 'heads' %d", width, heads)
  end
  local place = { device = o.device, dtype = o.dtype }
  self.width, self.heads, self.dropout = width, heads, o.dropout
  self.batch_first = o.batch_first
  local function drawn(rows, columns)
    return parameter.new(init.xavier_uniform_(rille.empty(rows, columns, place)))
  end
  if (o.kdim or width) == width and (o.vdim or width) == width then
    self.in_proj_weight = drawn(3 * width, width)
  else
    self.q_proj_weight = drawn(width, width)
    self.k_proj_weight = drawn(width, o.kdim or width)
    self.v_proj_weight = drawn(width, o.vdim or width)
  end
  if o.bias then self.in_proj_bias = parameter.new(rille.zeros(3 * width, place)) end
  self.out_proj = layers.Linear(width, width, { bias = o.bias, device = o.device, dtype = o.dtype })
  if o.bias then init.zeros_(self.out_proj.bias) end
end

local separate = { "q_proj_weight", "k_proj_weight", "v_proj_weight" }

local function project(self, x, part)
  local first = (part - 1) * self.width + 1
  local w, b = self[separate[part]], self.in_proj_bias
  if not w then w = self.in_proj_weight:narrow(1, first, self.width) end
  return rille.linear(x, w, b and b:narrow(1, first, self.width))
end

local function heads_of(self, x)
  local b, t = x:size()
  return x:view(b, t, self.heads, -1):transpose(2, 3)
end

-- `mask` where `seen` is true, too. A mask of floats is added to the scores.
local function only_where(mask, seen)
  if not mask then return seen end
  if mask.dtype == "bool" then return mask:logical_and(seen) end
  return rille.where(seen, mask, -math.huge)
end

-- What may be seen: `mask` [time, time] or broadcastable, true where attention may look, or floats;
-- `padding_mask` [batch, time of the keys], true for real tokens.
local function merged(mask, padding_mask)
  return padding_mask and only_where(mask, padding_mask:unsqueeze(2):unsqueeze(2)) or mask
end

-- The output, and how much each position looked at each other one, averaged over the heads: it
-- makes a matrix of all pairs, which attention otherwise never does.
local function weighed(self, q, k, v, o, mask)
  if o.causal then
    local rows, columns = q:size(3), k:size(3)
    local square = rille.causal_mask(math.max(rows, columns), { device = q.device })
    mask = only_where(mask, square:narrow(1, 1, rows):narrow(2, 1, columns))
  end
  local scores = q:matmul(k:transpose(-1, -2)) / q:size(-1) ^ 0.5
  if mask and mask.dtype == "bool" then
    scores = scores:masked_fill(mask:logical_not(), -math.huge)
  elseif mask then
    scores = scores + mask
  end
  local weights = scores:softmax(-1)
  local kept = rille.dropout(weights, { p = self.dropout, training = self.training })
  return kept:matmul(v), kept:mean(2)
end

local call_options = {
  { "mask", type = "rille.Tensor",
    doc = "[time, time] or broadcastable, true where it may look, or added floats" },
  { "padding_mask", type = "rille.Tensor", doc = "[batch, time], true for real tokens" },
  { "causal", false, doc = "no look ahead" }, { "need_weights", false, doc = "given second" },
}

-- One sequence without a batch, [time, width].
local function alone(self, query, key, value, o)
  local place = self.batch_first and 1 or 2
  o.padding_mask = o.padding_mask and o.padding_mask:unsqueeze(1)
  local y, weights = self:forward(query:unsqueeze(place), key:unsqueeze(place),
    value:unsqueeze(place), o)
  y = y:squeeze(place)
  if weights then return y, weights:squeeze(1) end
  return y
end

-- (query, key, value) or (x) for self-attention; returns the output, and with need_weights the
-- weights [batch, time, time of the keys].
--: query: rille.Tensor, key?: rille.Tensor, value?: rille.Tensor -> rille.Tensor
function MultiheadAttention:forward(query, key, value, options)
  if type(key) == "table" or key == nil then options, key, value = key, query, query end
  local o = read_options("MultiheadAttention", options, call_options)
  check("MultiheadAttention", "query", query, { type = "rille.Tensor" })
  check("MultiheadAttention", "key", key, { type = "rille.Tensor" })
  check("MultiheadAttention", "value", value, { type = "rille.Tensor" })
  if query:dim() == 2 then return alone(self, query, key, value, o) end
  if not self.batch_first then
    query, key, value = query:transpose(1, 2), key:transpose(1, 2), value:transpose(1, 2)
  end
  local q = heads_of(self, project(self, query, 1))
  local k, v = heads_of(self, project(self, key, 2)), heads_of(self, project(self, value, 3))
  local mask = merged(o.mask, o.padding_mask)
  local y, weights
  if o.need_weights then
    y, weights = weighed(self, q, k, v, o, mask)
  else
    y = rille.scaled_dot_product_attention(q, k, v, {
      mask = mask, causal = o.causal, dropout = self.training and self.dropout or 0,
    })
  end
  local b, _, t = y:size()
  y = self.out_proj(y:transpose(2, 3):reshape(b, t, self.width))
  if not self.batch_first then y = y:transpose(1, 2) end
  if weights then return y, weights end
  return y
end

function MultiheadAttention:describe()
  return ("width=%d, heads=%d, dropout=%g"):format(self.width, self.heads, self.dropout)
end

return { MultiheadAttention = MultiheadAttention }
