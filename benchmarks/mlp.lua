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
  local function loss_of() return rille.cross_entropy(model(x), y) end
  local forward = wrap and wrap(loss_of) or loss_of
  measure.case(name, function()
    optimizer:zero_grad()
    forward():backward()
    optimizer:step()
  end)
end

case("step")
case("step_bf16", measure.bf16)
