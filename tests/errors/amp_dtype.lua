local rille = require "rille"
local x = rille.ones(2, 2)
do
  local scope <close> = rille.amp.autocast { device = "cpu", dtype = "f32" }
  print(x:mm(x))
end
