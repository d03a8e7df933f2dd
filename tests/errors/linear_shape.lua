local rille = require "rille"
local nn = rille.nn
local layer = nn.Linear(784, 10)
local x = rille.ones(32, 28, 28)
print(layer(x))
