-- Modules without parameters that give tensors another shape: resizing, channels to pixels, dims
-- joined and split. Padding is among the layers.
local check = require "rille.check"
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

-- All dims but the first as one.
local Flatten = module.define "Flatten"

--: first?: integer, last?: integer
function Flatten:init(first, last)
  self.first = check("Flatten", "first", first or 2, { type = "integer" })
  self.last = check("Flatten", "last", last or -1, { type = "integer" })
end

--: x: rille.Tensor -> rille.Tensor
function Flatten:forward(x)
  check("Flatten", "x", x, { type = "rille.Tensor" })
  return x:flatten(self.first, self.last)
end

function Flatten:describe()
  return ("first=%d, last=%d"):format(self.first, self.last)
end

local Unflatten = module.define "Unflatten"

--: dim: integer, sizes: integer[]
function Unflatten:init(dim, sizes)
  self.dim = check("Unflatten", "dim", dim, { type = "integer" })
  self.sizes = check("Unflatten", "sizes", sizes, { type = "integer[]" })
end

--: x: rille.Tensor -> rille.Tensor
function Unflatten:forward(x)
  check("Unflatten", "x", x, { type = "rille.Tensor" })
  return x:unflatten(self.dim, self.sizes)
end

function Unflatten:describe()
  return ("dim=%d, sizes={%s}"):format(self.dim, table.concat(self.sizes, ", "))
end

classes.Flatten, classes.Unflatten = Flatten, Unflatten
return classes
