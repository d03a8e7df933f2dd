-- W7, optimizers: one step, and one clipping, over 50 parameters of a million numbers each.
local rille = require "rille"
local measure = require "measure"
local optim = rille.optim

local parameters = {}
for i = 1, 50 do
  parameters[i] = rille.randn(1000, 1000, { requires_grad = true })
  parameters[i].grad = rille.randn(1000, 1000)
end

local function step_of(optimizer)
  return function() optimizer:step() end
end

measure.case("adamw", step_of(optim.AdamW(parameters, { lr = 1e-3 })))
measure.case("sgd_momentum", step_of(optim.SGD(parameters, { lr = 1e-3, momentum = 0.9 })))
measure.case("clip_grad_norm", function() rille.nn.clip_grad_norm_(parameters, 1e9) end)
