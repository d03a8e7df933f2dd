local rille = require "rille"
local model = rille.nn.Linear(3, 2)
local reentrant = rille.checkpointer { reentrant = true }
reentrant(model, rille.ones(4, 3))
