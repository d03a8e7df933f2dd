local rille = require "rille"
local p = rille.zeros(3, { requires_grad = true })
local opt = rille.optim.AdamW({ p }, { weigth_decay = 0.1 })
