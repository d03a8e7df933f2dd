-- amp.f8.Linear: an nn.Linear whose products are of 8-bit floats. Its parameters stay as they are
-- (f32 masters), so that a state dict of one fits the other; with delayed scaling the histories
-- join it.
local check = require "rille.check"
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"
local layers = require "rille.nn.layers"
local module = require "rille.nn.module"
local read_options = require "rille.options"
local DelayedScaling = require "rille.amp.f8.delayed_scaling"
local product = require "rille.amp.f8.product"

-- A Linear that multiplies f8_e4m3, and gradients that come back in f8_e5m2.
local Linear = module.define("f8.Linear", layers.Linear)

local forward_dtype, gradient_dtype = "f8_e4m3", "f8_e5m2"

local known = {
  { "bias", true, doc = "adds a vector" },
  { "device", type = "string", doc = "default: the default device" },
  { "dtype", type = "rille.dtype", doc = "of the parameters; default: the default dtype" },
  { "scaling", "current", type = '"current"|"delayed"', doc = "scales of now or of the past" },
  { "history", 16, type = "integer", min = 1, doc = "calls that delayed scaling remembers" },
}

local function current(dtype)
  return function(t) return rille.quantize(t, dtype) end
end
local now = {
  x = current(forward_dtype), weight = current(forward_dtype), gradient = current(gradient_dtype),
}

-- Gives it what it scales with; also a Linear that has become one of these.
--: scaling: "current"|"delayed", history: integer
function Linear:scale_by(scaling, history)
  self.scaling = scaling
  if scaling ~= "delayed" then return end
  local options = { history = history }
  self.scale_x = DelayedScaling(forward_dtype, options)
  self.scale_weight = DelayedScaling(forward_dtype, options)
  self.scale_gradient = DelayedScaling(gradient_dtype, options)
  for _, scale in ipairs { self.scale_x, self.scale_weight, self.scale_gradient } do
    scale:to(self.weight.device):train(self.training)
  end
end

--: in_size: integer, out_size: integer
function Linear:init(in_size, out_size, options)
  local o = read_options("f8.Linear", options, known)
  layers.Linear.init(self, in_size, out_size, { bias = o.bias, device = o.device, dtype = o.dtype })
  self:scale_by(o.scaling, o.history)
end

local function scalings(self)
  if self.scaling ~= "delayed" then return now end
  return { x = self.scale_x, weight = self.scale_weight, gradient = self.scale_gradient }
end

-- What an nn.Linear would give: the dtype of an autocast scope, else that of x.
local function result_dtype(x)
  local on, lower = native.autocast_active(x.device)
  return on and x.dtype ~= "f64" and lower or x.dtype
end

--: x: rille.Tensor -> rille.Tensor
function Linear:forward(x)
  check("f8.Linear", "x", x, { type = "rille.Tensor" })
  local weight = self.weight
  if x:dim() == 0 or x:size(-1) ~= weight:size(2) then
    fail.raise {
      kind = "shape", code = "E_SHAPE", op = "f8.Linear",
      message = ("needs [..., %d], got [%s]"):format(weight:size(2), table.concat(x:shape(), ", ")),
    }
  end
  return product(x, weight, self.bias, scalings(self), result_dtype(x))
end

function Linear:describe()
  return layers.Linear.describe(self) .. ", scaling=" .. self.scaling
end

return { Linear = Linear }
