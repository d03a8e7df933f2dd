local rille = require "rille"
local t = rille.ones(4)
t.dtype = "f64"
