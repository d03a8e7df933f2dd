local rille = require "rille"
local model = rille.nn.Linear(2, 1)
model = rille.amp.initialize(model, { opt_level = "02" })
