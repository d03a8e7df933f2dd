local rille = require "rille"
local x = rille.ones(2)
print(x:sigmod())
