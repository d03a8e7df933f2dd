local rille = require "rille"
local a, b = rille.ones(2, 3), rille.ones(2, 4)
print(rille.cat({ a, b }, 1))
