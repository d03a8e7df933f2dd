local rille = require "rille"
rille.log { loss = "low" }
