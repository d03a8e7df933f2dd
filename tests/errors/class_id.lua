local rille = require "rille"
local logits, y = rille.ones(2, 3), rille.tensor { 1, 3 }
print(rille.cross_entropy(logits, y))
