local rille = require "rille"
local logits, y = rille.ones(2, 3), rille.tensor { 0.5, 1.5 }
print(rille.cross_entropy(logits, y))
