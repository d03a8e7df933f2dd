local rille = require "rille"
local a = rille.ones(2)
print(rille.cat { a, 3 })
