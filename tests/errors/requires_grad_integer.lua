local rille = require "rille"
local n = rille.zeros(3, { dtype = "i64", requires_grad = true })
