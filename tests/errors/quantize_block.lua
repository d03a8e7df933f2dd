local rille = require "rille"
local x = rille.randn(4, 40)
local q, scale = rille.amp.quantize(x, "f8_e4m3", { per = "block", block = 12 })
