local rille = require "rille"
local w = rille.ones(3, { requires_grad = true })
local h = w * 2
local y = h * h
h:add_(1)
y:sum():backward()
