local rille = require "rille"
local model = rille.nn.Sequential(rille.nn.Linear(2, 4), rille.nn.Linear(4, 1))
local opt = rille.optim.SGD(model:parameters())
local scaler = rille.amp.GradScaler()
for _ = 1, 100 do
  opt:zero_grad()
  scaler:scale(model(rille.ones(3, 2)):sum() / 0):backward()
  scaler:step(opt)
  scaler:update()
end
