local rille = require "rille"
local scores = rille.tensor { 0.5, 1.5, -2 }
print(rille.bce_loss(scores, rille.tensor { 1, 1, 0 }))
