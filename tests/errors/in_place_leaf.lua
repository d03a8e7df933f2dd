local rille = require "rille"
local w = rille.ones(3, { requires_grad = true })
w:add_(1)
