-- Sixty-four points of a plane, fitted by two layers under an opt level; the same model and data at
-- each. Gives the last loss.
local rille = require "rille"
local amp, nn = rille.amp, rille.nn

return function(level)
  rille.seed(5)
  local model = nn.Sequential(nn.Linear(2, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
  local opt = rille.apex.optimizers.FusedSGD(model:parameters(), { lr = 0.05, momentum = 0.9 })
  local x = rille.randn(64, 2)
  local y = (x:sum(2, { keepdim = true })):tanh()
  amp.initialize(model, opt, { opt_level = level, verbosity = 0 })
  local loss
  for _ = 1, 60 do
    opt:zero_grad()
    loss = rille.mse_loss(model(x), y)
    amp.scale_loss(loss, opt, function(scaled) scaled:backward() end)
    opt:step()
  end
  return loss:item()
end
