local rille = require "rille"
local model = rille.nn.Linear(2, 1)
local opt = rille.optim.SGD(model:parameters())
local fused <close> = rille.optim.fused_backward(opt)
model(rille.ones(3, 2)):sum():backward()
rille.nn.clip_grad_norm_(model:parameters(), 1.0)
