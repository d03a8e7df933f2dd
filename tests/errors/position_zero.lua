local rille = require "rille"
local x = rille.ones(4)
print(x[0])
