local rille = require "rille"
local x = rille.ones(2)
do local y <close> = x end
print(x + 1)
