local rille = require "rille"
local x = rille.ones(3)
x = rille.gelu(x, { approximate = "exact" })
