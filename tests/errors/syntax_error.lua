local rille = require "rille"
local x = = 3
