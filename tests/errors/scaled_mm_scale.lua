local rille = require "rille"
local x, w = rille.randn(16, 384):to "f8_e4m3", rille.randn(384, 32):to "f8_e4m3"
local w_scale = rille.ones(32, 1)
local y = rille.scaled_mm(x, w, { scale_b = w_scale, dtype = "bf16" })
