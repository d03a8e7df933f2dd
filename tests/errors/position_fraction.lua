local rille = require "rille"
local rows = { rille.ones(4) }
print(rows[1][1.5])
