local rille = require "rille"
local f = io.tmpfile()
print(rille.relu(f))
