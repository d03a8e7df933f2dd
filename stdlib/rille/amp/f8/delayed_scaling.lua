-- Scales from the past: a tensor is divided by what the largest magnitudes of the last calls ask
-- for, so that its own need not be known before it is written. The first call, and one after
-- nothing but zeros, takes its own. What has grown beyond the past ends at the format's largest
-- value; what is not finite stays so and is not remembered.
local rille = require "rille"
local check = require "rille.check"
local module = require "rille.nn.module"
local read_options = require "rille.options"
require "rille.nn"                                       -- what all modules can do

local DelayedScaling = module.define "DelayedScaling"

local known = {
  { "history", 16, type = "integer", min = 1, doc = "how many calls are remembered" },
  { "margin", 0, type = "integer", min = 0, doc = "powers of two that are left free above" },
}

--: dtype: rille.dtype
function DelayedScaling:init(dtype, options)
  local o = read_options("DelayedScaling", options, known)
  self.dtype, self.margin = dtype, o.margin
  self.largest = rille.finfo(dtype).max
  self:buffer("history", rille.zeros(o.history))
end

-- The largest magnitude, without a tensor of magnitudes; that of nothing is 0.
local function amax_of(t)
  if t:numel() == 0 then return t:sum():to "f32" end
  return rille.maximum(t:amax(), -t:amin()):to "f32"
end

-- The newest first; the oldest is forgotten.
local function remember(history, amax)
  local seen = rille.where(amax:isfinite(), amax, 0.0):reshape(1)
  local count = #history
  history:copy_(count == 1 and seen or rille.cat { seen, history:narrow(1, 1, count - 1) })
end

-- Codes and their scale, a 0-d tensor of f32. Remembers in training mode only.
--: t: rille.Tensor -> rille.Tensor, rille.Tensor
function DelayedScaling:forward(t)
  check("DelayedScaling", "t", t, { type = "rille.Tensor" })
  local _ <close> = rille.no_grad()
  local amax = amax_of(t)
  local past = self.history:amax()
  local most = rille.where(past:gt(0), past, rille.where(amax:isfinite(), amax, 0.0))
  local scale = most * (2.0 ^ self.margin / self.largest)
  scale = rille.where(scale:gt(0), scale, 1.0)
  if self.training then remember(self.history, amax) end
  local q = rille.quantize(t, self.dtype, { scale = scale })
  return q, scale
end

function DelayedScaling:describe()
  return ("%s, history=%d, margin=%d"):format(self.dtype, #self.history, self.margin)
end

return DelayedScaling
