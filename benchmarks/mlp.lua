-- W3: an MLP 784-512-512-10, batch 128: zero_grad, forward, loss, backward, SGD with momentum.
local rille = require "rille"
local measure = require "measure"
local nn = rille.nn

local model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
  nn.Linear(512, 10))
local optimizer = rille.optim.SGD(model:parameters(), { lr = 0.05, momentum = 0.9 })
local x, y = rille.randn(128, 784), rille.randint(0, 9, 128)

measure.case("step", function()
  optimizer:zero_grad()
  local loss = rille.cross_entropy(model(x), y)
  loss:backward()
  optimizer:step()
end)
