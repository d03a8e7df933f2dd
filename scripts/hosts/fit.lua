-- What host.cpp runs: the host gives `samples` and `report`, and reads `weights` and `predict`.
local rille = require "rille"
local nn, optim = rille.nn, rille.optim

local model = nn.Linear(8, 1)
local optimizer = optim.SGD(model:parameters(), { lr = 0.01 })
local target = rille.ones(#samples, 1)

for step = 1, 50 do
  optimizer:zero_grad()
  local loss = rille.mse_loss(model(samples), target)
  loss:backward()
  optimizer:step()
  if step % 10 == 0 then report(step, loss:item()) end
end

weights = model.weight:detach()

function predict(x)
  return rille.no_grad(function() return model(x) end)
end
