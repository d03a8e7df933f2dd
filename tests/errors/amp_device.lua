local rille = require "rille"
local scope <close> = rille.amp.autocast { device = "gpu" }
