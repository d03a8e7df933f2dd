local rille = require "rille"
local x = rille.ones(3, { requires_grad = true })
local y = x * 2
y:backward()
