local rille = require "rille"
local nn = rille.nn
local norm = nn.BatchNorm1d(4)
local x = rille.ones(1, 4)
print(norm(x))
