-- Modules without parameters that work on values: activations, dropout, pooling, similarities.
local native = require "rille.native"
local check = require "rille.check"
local module = require "rille.nn.module"
local over_ops = require "rille.nn.over_ops"

local half = { p = 0.5 }

local classes = over_ops {
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
  Softmax2d = { "softmax", presets = { dim = -3 } },
  Softmin = { "softmin", "dim" },
  LogSoftmax = { "log_softmax", "dim" },
  Hardswish = { "hardswish" },
  Hardsigmoid = { "hardsigmoid" },
  Hardtanh = { "hardtanh", "min_val", "max_val" },
  Hardshrink = { "hardshrink", "lambd" },
  Softshrink = { "softshrink", "lambd" },
  Tanhshrink = { "tanhshrink" },
  Threshold = { "threshold", "threshold", "value" },
  GLU = { "glu", "dim" },

  Dropout = { "dropout", "p", training = true, presets = half },
  Dropout1d = { "dropout1d", "p", training = true, presets = half },
  Dropout2d = { "dropout2d", "p", training = true, presets = half },
  Dropout3d = { "dropout3d", "p", training = true, presets = half },
  AlphaDropout = { "alpha_dropout", "p", training = true, presets = half },
  FeatureAlphaDropout = { "feature_alpha_dropout", "p", training = true, presets = half },

  MaxPool1d = { "max_pool1d", "kernel", "stride" },
  MaxPool2d = { "max_pool2d", "kernel", "stride" },
  MaxPool3d = { "max_pool3d", "kernel", "stride" },
  MaxUnpool1d = { "max_unpool1d", "kernel", "stride" },
  MaxUnpool2d = { "max_unpool2d", "kernel", "stride" },
  MaxUnpool3d = { "max_unpool3d", "kernel", "stride" },
  AvgPool1d = { "avg_pool1d", "kernel", "stride" },
  AvgPool2d = { "avg_pool2d", "kernel", "stride" },
  AvgPool3d = { "avg_pool3d", "kernel", "stride" },
  LPPool1d = { "lp_pool1d", "p", "kernel", "stride" },
  LPPool2d = { "lp_pool2d", "p", "kernel", "stride" },
  AdaptiveAvgPool1d = { "adaptive_avg_pool1d", "size" },
  AdaptiveAvgPool2d = { "adaptive_avg_pool2d", "size" },
  AdaptiveAvgPool3d = { "adaptive_avg_pool3d", "size" },
  AdaptiveMaxPool1d = { "adaptive_max_pool1d", "size" },
  AdaptiveMaxPool2d = { "adaptive_max_pool2d", "size" },
  AdaptiveMaxPool3d = { "adaptive_max_pool3d", "size" },

  LocalResponseNorm = { "local_response_norm", "size", "alpha", "beta", "k" },
  CosineSimilarity = { "cosine_similarity", "dim", "eps" },
  PairwiseDistance = { "pairwise_distance", "p", "eps" },
}

local Identity = module.define "Identity"

function Identity:init() end

function Identity.forward(_, ...)
  return ...
end

-- leaky_relu with a slope of its own for each element in training, drawn from lower to upper.
local RReLU = module.define "RReLU"

--: lower?: number, upper?: number
function RReLU:init(lower, upper)
  self.lower = check("RReLU", "lower", lower or 1 / 8, { type = "number" })
  self.upper = check("RReLU", "upper", upper or 1 / 3, { type = "number", min = self.lower })
  module.state(self).layer = native.layer("RReLU", { lower = self.lower, upper = self.upper })
end

--: x: rille.Tensor -> rille.Tensor
function RReLU:forward(x)
  return native.layer_forward(module.state(self).layer, self, x)
end

function RReLU:describe()
  return ("lower=%g, upper=%g"):format(self.lower, self.upper)
end

classes.Identity, classes.RReLU = Identity, RReLU
return classes
