-- rille.apex.normalization: Apex's fused layer norm by name. Ours is fused, so it is nn.LayerNorm
-- with Apex's spelling.
local rille = require "rille"
local read_only = require "rille.read_only"
local read_options = require "rille.options"

local normalization = {}

-- nn.LayerNorm(shape) with Apex's options.
--: normalized_shape: integer|integer[] -> rille.nn.Module
function normalization.FusedLayerNorm(normalized_shape, options)
  local o = read_options("FusedLayerNorm", options, {
    { "eps", 1e-5, doc = "added to the variance" },
    { "elementwise_affine", true, doc = "has weight and bias" },
  })
  return rille.nn.LayerNorm(normalized_shape, { eps = o.eps, affine = o.elementwise_affine })
end

return read_only("rille.apex.normalization", normalization)
