local rille = require "rille"
local x = rille.ones(3)
local w = rille.ones(3, { requires_grad = true })
local loss = rille.checkpoint(function(h) return (h * w):exp() end, x):sum()
x:add_(1)
loss:backward()
