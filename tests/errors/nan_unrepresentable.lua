local rille = require "rille"
local x = rille.tensor { { 1, 0.5 }, { 0 / 0, 3 } }
local y = x:to "f4_e2m1"
