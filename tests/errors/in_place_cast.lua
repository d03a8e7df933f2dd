local rille = require "rille"
local n = rille.tensor { 1, 2 }
n:add_(0.5)
