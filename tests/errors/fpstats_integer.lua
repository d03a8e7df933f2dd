local rille = require "rille"
local ids = rille.tensor { 1, 2, 3 }
print(ids:fpstats())
