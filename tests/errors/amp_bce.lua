local rille = require "rille"
local p, y = rille.full({ 4 }, 0.5), rille.zeros(4)
local loss = rille.amp.autocast({ dtype = "f16" }, function()
  return rille.bce_loss(p, y)
end)
print(loss)
