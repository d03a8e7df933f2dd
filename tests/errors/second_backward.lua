local rille = require "rille"
local x = rille.ones(3, { requires_grad = true })
local loss = (x * x):sum()
loss:backward()
loss:backward()
