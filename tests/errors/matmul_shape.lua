local rille = require "rille"
local h, w = rille.ones(64, 784), rille.ones(256, 10)
local logits = h:matmul(w)
