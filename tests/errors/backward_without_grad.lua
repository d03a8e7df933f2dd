local rille = require "rille"
local x = rille.ones(3)
local loss = (x * x):sum()
loss:backward()
