local rille = require "rille"
local fc = rille.amp.f8.Linear(4, 2)
local y = fc(rille.ones(3, 5))
