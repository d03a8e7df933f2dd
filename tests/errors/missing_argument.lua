local rille = require "rille"
local x = rille.ones(3)
print(x:matmul())
