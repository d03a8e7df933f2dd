local rille = require "rille"
local x = rille.ones(4)
x[5] = 0
