-- Transformer layers and stacks of them, with PyTorch's names of parameters. Calls take masks in
-- the trailing table: mask, padding_mask (true for real tokens), causal; decoders memory_mask,
-- memory_padding_mask too.
local rille = require "rille"
local containers = require "rille.nn.containers"
local check = require "rille.check"
local fail = require "rille.fail"
local layers = require "rille.nn.layers"
local module = require "rille.nn.module"
local MultiheadAttention = require "rille.nn.attention".MultiheadAttention
local read_options = require "rille.options"
local stateless = require "rille.nn.stateless"

local known = {
  { "feedforward", 2048, doc = "width of the hidden layer" }, { "dropout", 0.1 },
  { "activation", "relu", doc = "the name of an op" }, { "eps", 1e-5, doc = "of the norms" },
  { "norm_first", false, doc = "norms before the sublayers, not after" },
  { "causal", false, doc = "no look ahead" }, { "bias", true },
  { "device", type = "string" }, { "dtype", type = "rille.dtype" },
}

-- What encoder and decoder layers share: self-attention, the two linear layers, norms.
local Layer = module.define "TransformerLayer"

function Layer:build(width, heads, o, norms)
  check(self.__name, "options", o, { type = "table" })
  local place = { bias = o.bias, device = o.device, dtype = o.dtype }
  self.causal, self.norm_first, self.activation = o.causal, o.norm_first, o.activation
  local attention = { dropout = o.dropout, bias = o.bias, device = o.device, dtype = o.dtype }
  self.self_attn = MultiheadAttention(width, heads, attention)
  if norms == 3 then self.multihead_attn = MultiheadAttention(width, heads, attention) end
  self.linear1 = layers.Linear(width, o.feedforward, place)
  self.dropout = stateless.Dropout(o.dropout)
  self.linear2 = layers.Linear(o.feedforward, width, place)
  for i = 1, norms do
    self["norm" .. i] = layers.LayerNorm(width,
      { eps = o.eps, bias = o.bias, device = o.device, dtype = o.dtype })
  end
  for i = 1, norms do self["dropout" .. i] = stateless.Dropout(o.dropout) end
end

-- x + f(norm(x)), or norm(x + f(x)); i is the number of the sublayer.
function Layer:sublayer(i, x, f)
  check(self.__name .. ".sublayer", "i", i, { type = "integer", min = 1 })
  check(self.__name .. ".sublayer", "f", f, { type = "fun" })
  local norm, dropout = self["norm" .. i], self["dropout" .. i]
  if self.norm_first then return x + dropout(f(norm(x))) end
  return norm(x + dropout(f(x)))
end

function Layer:feed(x)
  local h = self.linear1(x)
  h = type(self.activation) == "function" and self.activation(h) or rille[self.activation](h)
  return self.linear2(self.dropout(h))
end

-- Self-attention and a hidden layer, each with a norm around it.
local EncoderLayer = module.define("TransformerEncoderLayer", Layer)

--: width: integer, heads: integer
function EncoderLayer:init(width, heads, options)
  self:build(width, heads, read_options(self.__name, options, known), 2)
end

local encoder_options = {
  { "mask", type = "rille.Tensor", doc = "[time, time] or broadcastable, true where it may look" },
  { "padding_mask", type = "rille.Tensor", doc = "[batch, time], true for real tokens" },
  { "causal", type = "boolean", doc = "no look ahead; the layer's own without" },
}

--: x: rille.Tensor -> rille.Tensor
function EncoderLayer:forward(x, options)
  local o = read_options("TransformerEncoderLayer", options, encoder_options)
  if o.causal == nil then o.causal = self.causal end
  x = self:sublayer(1, x, function(h) return self.self_attn(h, o) end)
  return self:sublayer(2, x, function(h) return self:feed(h) end)
end

-- Self-attention, attention to a memory and a hidden layer, each with a norm around it.
local DecoderLayer = module.define("TransformerDecoderLayer", Layer)

--: width: integer, heads: integer
function DecoderLayer:init(width, heads, options)
  self:build(width, heads, read_options(self.__name, options, known), 3)
end

local decoder_options = {
  { "mask", type = "rille.Tensor", doc = "[time, time] or broadcastable, true where it may look" },
  { "padding_mask", type = "rille.Tensor", doc = "[batch, time], true for real tokens" },
  { "causal", type = "boolean", doc = "no look ahead; the layer's own without" },
  { "memory_mask", type = "rille.Tensor", doc = "[time, time of the memory]" },
  { "memory_padding_mask", type = "rille.Tensor", doc = "[batch, time of the memory]" },
}

--: x: rille.Tensor, memory: rille.Tensor -> rille.Tensor
function DecoderLayer:forward(x, memory, options)
  local o = read_options("TransformerDecoderLayer", options, decoder_options)
  local causal = o.causal
  if causal == nil then causal = self.causal end
  local own = { mask = o.mask, padding_mask = o.padding_mask, causal = causal }
  local cross = { mask = o.memory_mask, padding_mask = o.memory_padding_mask }
  x = self:sublayer(1, x, function(h) return self.self_attn(h, own) end)
  x = self:sublayer(2, x, function(h) return self.multihead_attn(h, memory, memory, cross) end)
  return self:sublayer(3, x, function(h) return self:feed(h) end)
end

-- Layers one after another: made by `make(i)`, `count` of them, or given as a list.
--: make: rille.nn.Module[]|(fun(i: integer): rille.nn.Module), count?: integer
local function stack(self, make, count, options)
  local o = read_options(self.__name, options, {
    { "norm", type = "rille.nn.Module", doc = "what comes last" },
  })
  if type(make) == "function" then
    local list = {}
    count = check(self.__name, "count", count, { type = "integer", min = 0 })
    for i = 1, count do
      list[i] = check(self.__name, "make(i)", make(i), { type = "rille.nn.Module" })
    end
    make = list
  elseif type(make) ~= "table" or module.is_module(make) then
    fail.type(self.__name, "layers", "a list of layers or a function that makes one", make)
  end
  self.layers = containers.ModuleList(make)
  self.norm = o.norm
end

-- Encoder layers one after another, and a norm.
local Encoder = module.define "TransformerEncoder"
Encoder.init = stack

--: x: rille.Tensor -> rille.Tensor
function Encoder:forward(x, options)
  for _, layer in ipairs(self.layers) do x = layer(x, options) end
  return self.norm and self.norm(x) or x
end

-- Decoder layers one after another, and a norm.
local Decoder = module.define "TransformerDecoder"
Decoder.init = stack

--: x: rille.Tensor, memory: rille.Tensor -> rille.Tensor
function Decoder:forward(x, memory, options)
  for _, layer in ipairs(self.layers) do x = layer(x, memory, options) end
  return self.norm and self.norm(x) or x
end

return {
  TransformerEncoderLayer = EncoderLayer, TransformerDecoderLayer = DecoderLayer,
  TransformerEncoder = Encoder, TransformerDecoder = Decoder,
}
