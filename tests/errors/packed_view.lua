local rille = require "rille"
local x = rille.randn(4, 8):to "f4_e2m1"
local columns = x[{ {}, { 2, 4 } }]
