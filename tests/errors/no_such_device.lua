local rille = require "rille"
local x = rille.zeros(3):to("tpu")
