local rille = require "rille"
local x = rille.tensor { { 1, 2 }, { 0 / 0, 4 } }
local q = rille.amp.quantize(x, "f4_e2m1", { scale = 1.0 })
