local rille = require "rille"
local model, head = rille.nn.Linear(2, 4), rille.nn.Linear(4, 1)
local opt = rille.optim.SGD(head:parameters())
local scaler = rille.amp.GradScaler()
scaler:scale(model(rille.ones(3, 2)):sum()):backward()
scaler:step(opt)
