local rille = require "rille"
local amp, nn, optim = rille.amp, rille.nn, rille.optim
local model = nn.Linear(2, 1)
local opt = optim.SGD(model:parameters(), { lr = 0.1 })
local loss = model(rille.ones(3, 2)):sum()
do
  local scaled <close> = amp.scale_loss(loss, opt)
  scaled:backward()
end
