local rille = require "rille"
local x = rille.randn(4, 8):to "f8_e4m3"
local bias = rille.zeros(8)
local y = x + bias
