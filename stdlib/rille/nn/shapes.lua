-- Modules without parameters that give tensors another shape: padding, resizing, channels to
-- pixels, dims joined and split.
local rille = require "rille"
local module = require "rille.nn.module"
local over_ops = require "rille.nn.over_ops"

local classes = over_ops {
  PixelShuffle = { "pixel_shuffle", "factor" },
  PixelUnshuffle = { "pixel_unshuffle", "factor" },
  ChannelShuffle = { "channel_shuffle", "groups" },
  Upsample = { "interpolate" },
  UpsamplingNearest2d = { "interpolate", presets = { mode = "nearest" } },
  UpsamplingBilinear2d = { "interpolate", presets = { mode = "bilinear", align_corners = true } },
  Unfold = { "unfold2d", "kernel_size" },
  Fold = { "fold2d", "output_size", "kernel_size" },
}

-- Padding of the last dims: one number for all sides, or before and after each, the last dim first.
local Pad = module.define "Pad"

--: pads: integer|integer[], value?: number
function Pad:init(pads, value)
  if type(pads) == "number" then
    local side = pads
    pads = {}
    for i = 1, 2 * self.dims do pads[i] = side end
  end
  self.pads, self.value = pads, value or 0
end

function Pad:forward(x)
  return rille.pad(x, self.pads, { mode = self.mode, value = self.value })
end

function Pad:describe()
  local text = "{" .. table.concat(self.pads, ", ") .. "}"
  return self.value == 0 and text or ("%s, %g"):format(text, self.value)
end

local kinds = {
  ZeroPad = "constant", ConstantPad = "constant", ReflectionPad = "reflect",
  ReplicationPad = "replicate", CircularPad = "circular",
}
for kind, mode in pairs(kinds) do
  for dims = 1, 3 do
    local class = module.define(("%s%dd"):format(kind, dims), Pad)
    class.mode, class.dims = mode, dims
    classes[class.__name] = class
  end
end

-- All dims but the first as one.
local Flatten = module.define "Flatten"

--: first?: integer, last?: integer
function Flatten:init(first, last)
  self.first, self.last = first or 2, last or -1
end

--: x: rille.Tensor -> rille.Tensor
function Flatten:forward(x)
  return x:flatten(self.first, self.last)
end

function Flatten:describe()
  return ("first=%d, last=%d"):format(self.first, self.last)
end

local Unflatten = module.define "Unflatten"

--: dim: integer, sizes: integer[]
function Unflatten:init(dim, sizes)
  self.dim, self.sizes = dim, sizes
end

--: x: rille.Tensor -> rille.Tensor
function Unflatten:forward(x)
  return x:unflatten(self.dim, self.sizes)
end

function Unflatten:describe()
  return ("dim=%d, sizes={%s}"):format(self.dim, table.concat(self.sizes, ", "))
end

classes.Flatten, classes.Unflatten = Flatten, Unflatten
return classes
