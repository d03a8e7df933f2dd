local rille = require "rille"
local x = rille.zeros(2, { requires_grad = true })
local y = x:sqrt():sum()
rille.debugging.detect_anomaly({ check_inf = true }, function()
  y:backward()
end)
