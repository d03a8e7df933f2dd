local rille = require "rille"
local x = rille.ones(3, { requires_grad = true })
local keep = rille.checkpointer { policy = { "exp", "sin" } }
local a, b = keep(function(h) return h:exp(), h:sin():exp() end, x)
a:sum():backward()
b:sum():backward()
