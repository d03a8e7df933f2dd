local rille = require "rille"
local scaler = rille.amp.GradScaler { growth_factor = 0.5 }
