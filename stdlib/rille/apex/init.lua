-- rille.apex: mixed precision as NVIDIA's Apex spelled it, for recipes that come from there.
local lazy = require "rille.lazy"

return lazy("rille.apex", { "rille.apex.names" }, {
  amp = "rille.apex.amp",
  normalization = "rille.apex.normalization",
  optimizers = "rille.apex.optimizers",
})
