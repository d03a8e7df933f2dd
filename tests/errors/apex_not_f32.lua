local rille = require "rille"
local amp, nn, optim = rille.amp, rille.nn, rille.optim
local model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1)):to "f16"
local opt = optim.SGD(model:parameters(), { lr = 0.1 })
model, opt = amp.initialize(model, opt, { opt_level = "O2" })
