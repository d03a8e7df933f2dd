local rille = require "rille"
local x = rille.zeros(2 ^ 40 // 1 | 0, 2 ^ 40 // 1 | 0)
