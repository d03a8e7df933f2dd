local rille = require "rille"
local model = rille.nn.Linear(2, 1)
local opt = rille.optim.SGD(model:parameters())
local fused <close> = rille.optim.fused_backward(opt)
for _ = 1, 2 do
  model(rille.ones(3, 2)):sum():backward()
end
