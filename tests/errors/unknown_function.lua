local rille = require "rille"
print(rille.sofmax(rille.ones(2)))
