-- rille.tune: settings of a training run found by trying them out.
local lazy = require "rille.lazy"

return lazy("rille.tune", {}, { batch_size = "rille.tune.batch_size" })
