-- rille.data: datasets, samplers and the loader.
local lazy = require "rille.lazy"

return lazy("rille.data", { "rille.data.names" }, { transforms = "rille.data.transforms" })
