local rille = require "rille"
print(rille.relu("x"))
