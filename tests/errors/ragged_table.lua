local rille = require "rille"
local x = rille.tensor { { 1, 2 }, { 3 } }
