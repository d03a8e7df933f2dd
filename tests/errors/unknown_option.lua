local rille = require "rille"
local x = rille.zeros(3, 4, { dtpye = "f16" })
