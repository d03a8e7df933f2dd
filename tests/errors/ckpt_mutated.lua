local rille = require "rille"
local model = rille.nn.Linear(3, 2)
local opt = rille.optim.SGD(model:parameters(), { lr = 0.1 })
local x = rille.ones(4, 3)
local loss = rille.checkpoint(model, x):sum()
model.weight.grad = rille.ones(2, 3)
opt:step()
loss:backward()
