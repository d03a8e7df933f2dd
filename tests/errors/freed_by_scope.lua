local rille = require "rille"
local x
do
  local scope <close> = rille.scope()
  x = rille.ones(2)
end
print(x + 1)
