-- W3: an MLP 784-512-512-10, batch 128: zero_grad, forward, loss, backward, SGD with momentum; in
-- f32 and under bf16 autocast.
local rille = require "rille"
local measure = require "measure"
local nn = rille.nn

local function case(name, wrap)
  if not measure.wants(name) then return end
  local model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
    nn.Linear(512, 10))
  local optimizer = rille.optim.SGD(model:parameters(), { lr = 0.05, momentum = 0.9 })
  local x, y = rille.randn(128, 784), rille.randint(0, 9, 128)
  measure.classifier(name, model, optimizer, x, y, wrap)
end

case("step")
case("step_bf16", measure.bf16)
