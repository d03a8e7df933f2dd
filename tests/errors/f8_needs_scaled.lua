local rille = require "rille"
local x, w = rille.randn(4, 8):to "f8_e4m3", rille.randn(8, 2):to "f8_e4m3"
local y = x:matmul(w)
