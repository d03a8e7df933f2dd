local rille = require "rille"
print(rille.amp.report())
