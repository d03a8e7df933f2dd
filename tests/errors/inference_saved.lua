local rille = require "rille"
local w = rille.ones(3, { requires_grad = true })
local x = rille.inference(function() return rille.ones(3) * 2 end)
local y = w * x
