local rille = require "rille"
local x = rille.ones(3, { requires_grad = true })
local reentrant = rille.checkpointer { reentrant = true }
local y = reentrant(function(h) return h:exp() end, x)
rille.grad(y:sum(), x)
