local rille = require "rille"
local w = rille.ones(2, { requires_grad = true })
w.grad = rille.ones(2, { dtype = "f64" })
