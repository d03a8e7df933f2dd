local rille = require "rille"
local h = rille.ones(2, 3)
local y = h[{ 1, 2, 3 }] + 1
