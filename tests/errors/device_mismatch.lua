local rille = require "rille"
local a, b = rille.ones(2), rille.ones(2, { device = "cpu:1" })
print(a + b)
