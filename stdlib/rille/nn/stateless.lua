-- Modules without parameters: a class over an op, made from one line each. A line names the op,
-- what may be given by position (the rest sit in the trailing table), and `training` where the op
-- asks for the mode.
local rille = require "rille"
local fail = require "rille.fail"
local module = require "rille.nn.module"

local activations = {
  ReLU = { "relu" },
  ReLU6 = { "relu6" },
  LeakyReLU = { "leaky_relu", "negative_slope" },
  ELU = { "elu", "alpha" },
  SELU = { "selu" },
  CELU = { "celu", "alpha" },
  GELU = { "gelu" },
  SiLU = { "silu" },
  Mish = { "mish" },
  Sigmoid = { "sigmoid" },
  LogSigmoid = { "logsigmoid" },
  Tanh = { "tanh" },
  Softplus = { "softplus" },
  Softsign = { "softsign" },
  Softmax = { "softmax", "dim" },
  LogSoftmax = { "log_softmax", "dim" },
  Hardswish = { "hardswish" },
  Hardsigmoid = { "hardsigmoid" },
  Hardtanh = { "hardtanh", "min_val", "max_val" },
  Hardshrink = { "hardshrink", "lambd" },
  Softshrink = { "softshrink", "lambd" },
  Tanhshrink = { "tanhshrink" },
  Threshold = { "threshold", "threshold", "value" },
  GLU = { "glu", "dim" },
  Dropout = { "dropout", "p", training = true },
  Dropout1d = { "dropout1d", "p", training = true },
  Dropout2d = { "dropout2d", "p", training = true },
  Dropout3d = { "dropout3d", "p", training = true },
  AlphaDropout = { "alpha_dropout", "p", training = true },
}

local pooling = {
  MaxPool1d = { "max_pool1d", "kernel" },
  MaxPool2d = { "max_pool2d", "kernel" },
  MaxPool3d = { "max_pool3d", "kernel" },
  AvgPool1d = { "avg_pool1d", "kernel" },
  AvgPool2d = { "avg_pool2d", "kernel" },
  AvgPool3d = { "avg_pool3d", "kernel" },
  AdaptiveAvgPool1d = { "adaptive_avg_pool1d", "size" },
  AdaptiveAvgPool2d = { "adaptive_avg_pool2d", "size" },
  AdaptiveAvgPool3d = { "adaptive_avg_pool3d", "size" },
  AdaptiveMaxPool2d = { "adaptive_max_pool2d", "size" },
  PixelShuffle = { "pixel_shuffle", "factor" },
  ZeroPad2d = { "pad", "pads" },
  Upsample = { "interpolate" },
  LocalResponseNorm = { "local_response_norm", "size" },
}

local losses = {
  CrossEntropyLoss = { "cross_entropy" },
  NLLLoss = { "nll_loss" },
  MSELoss = { "mse_loss" },
  L1Loss = { "l1_loss" },
  SmoothL1Loss = { "smooth_l1_loss" },
  HuberLoss = { "huber_loss" },
  BCELoss = { "bce_loss" },
  BCEWithLogitsLoss = { "bce_with_logits_loss" },
  KLDivLoss = { "kl_div" },
  HingeEmbeddingLoss = { "hinge_embedding_loss" },
  MarginRankingLoss = { "margin_ranking_loss" },
  TripletMarginLoss = { "triplet_margin_loss" },
  CosineEmbeddingLoss = { "cosine_embedding_loss" },
  CTCLoss = { "ctc_loss" },
  MultiMarginLoss = { "multi_margin_loss" },
  PoissonNLLLoss = { "poisson_nll_loss" },
  GaussianNLLLoss = { "gaussian_nll_loss" },
  SoftMarginLoss = { "soft_margin_loss" },
  CosineSimilarity = { "cosine_similarity", "dim" },
}

local defaults = { p = 0.5 }

local function show(value)
  if type(value) == "table" then return "{" .. table.concat(value, ", ") .. "}" end
  return tostring(value)
end

local Stateless = module.define "Stateless"

function Stateless:init(...)
  local options, given = {}, table.pack(...)
  local last = given[given.n]
  if type(last) == "table" and #last == 0 then
    for name, value in pairs(last) do options[name] = value end
    given.n = given.n - 1
  end
  local names = self.positional
  if given.n > #names then
    fail.argument(self.__name, "takes %d arguments, got %d", #names, given.n)
  end
  for i = 1, given.n do options[names[i]] = given[i] end
  for _, name in ipairs(names) do
    if options[name] == nil then options[name] = defaults[name] end
  end
  self.options = options
end

function Stateless:forward(...)
  local op, options = rille[self.op], self.options
  if self.follows_mode then
    options.training = self.training
  elseif next(options) == nil then
    return op(...)
  end
  local arguments = table.pack(...)
  arguments[arguments.n + 1] = options
  return op(table.unpack(arguments, 1, arguments.n + 1))
end

function Stateless:describe()
  local parts = {}
  for name, value in pairs(self.options) do
    if name ~= "training" then parts[#parts + 1] = name .. "=" .. show(value) end
  end
  table.sort(parts)
  return table.concat(parts, ", ")
end

local classes = {}
for _, family in ipairs { activations, pooling, losses } do
  for name, line in pairs(family) do
    local class = module.define(name, Stateless)
    class.op, class.follows_mode = line[1], line.training
    class.positional = table.move(line, 2, #line, 1, {})
    classes[name] = class
  end
end

local Identity = module.define "Identity"

function Identity:init() end

function Identity.forward(_, ...)
  return ...
end

-- All dims but the first as one.
local Flatten = module.define "Flatten"

function Flatten:init(first, last)
  self.first, self.last = first or 2, last or -1
end

function Flatten:forward(x)
  return x:flatten(self.first, self.last)
end

function Flatten:describe()
  return ("first=%d, last=%d"):format(self.first, self.last)
end

local Unflatten = module.define "Unflatten"

function Unflatten:init(dim, sizes)
  self.dim, self.sizes = dim, sizes
end

function Unflatten:forward(x)
  return x:unflatten(self.dim, self.sizes)
end

function Unflatten:describe()
  return ("dim=%d, sizes={%s}"):format(self.dim, table.concat(self.sizes, ", "))
end

classes.Identity, classes.Flatten, classes.Unflatten = Identity, Flatten, Unflatten
return classes
