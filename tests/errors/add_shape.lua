local rille = require "rille"
local a, b = rille.ones(2, 3), rille.ones(4)
print(a + b)
