local rille = require "rille"
local model = rille.nn.Linear(2, 1)
local opt = rille.optim.SGD(model:parameters())
local scaler = rille.amp.GradScaler()
local fused <close> = rille.optim.fused_backward(opt)
scaler:scale(model(rille.ones(3, 2)):sum()):backward()
