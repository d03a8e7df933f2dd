local rille = require "rille"
local x = rille.inference(function() return rille.ones(3) end)
x:requires_grad_()
