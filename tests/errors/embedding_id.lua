local rille = require "rille"
local table = rille.ones(5, 2)
local ids = rille.tensor { 0, 4, 5 }
print(rille.embedding(ids, table))
