local rille = require "rille"
local model = rille.nn.Linear(2, 1)
local opt = rille.optim.LBFGS(model:parameters())
local fused <close> = rille.optim.fused_backward(opt)
