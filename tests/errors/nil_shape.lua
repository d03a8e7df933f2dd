local rille = require "rille"
local x = rille.zeros(n, { dtype = "f64" })
