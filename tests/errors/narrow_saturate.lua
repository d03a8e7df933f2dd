local rille = require "rille"
local x = rille.randn(8)
local y = x:to("f6_e3m2", { saturate = false })
