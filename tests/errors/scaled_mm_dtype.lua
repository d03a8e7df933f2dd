local rille = require "rille"
local x, w = rille.ones(2, 4):to "f8_e4m3", rille.ones(4, 3):to "i64"
local y = rille.scaled_mm(x, w)
