local rille = require "rille"
local x = rille.zeros(2.5)
