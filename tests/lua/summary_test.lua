-- nn.summary: a line a module, with shapes and numbers of parameters.
local t = require "support.test"
local rille = require "rille"
local nn = rille.nn

t.test("shapes and counts", function()
  local model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
  model[3]:requires_grad_(false)
  t.eq(nn.summary(model, { 2, 784 }), table.concat({
    "module      output    parameters", "Sequential  [2, 10]", "Linear 1    [2, 512]     401,920",
    "ReLU 2      [2, 512]", "Linear 3    [2, 10]        5,130",
    "407,050 parameters, 401,920 trained",
  }, "\n"))
  t.eq(model.training, true)
  t.ok(nn.summary(model):find "407,050 parameters")
end)
