local rille = require "rille"
local x = rille.ones(2, 2)
rille.amp.autocast({ rules = { matmull = "f32" } }, function()
  print(x:mm(x))
end)
