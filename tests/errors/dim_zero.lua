local rille = require "rille"
local x = rille.ones(2, 3)
print(x:sum(0))
