local rille = require "rille"
local x = rille.ones(3, { requires_grad = true })
local some = rille.checkpointer { policy = function() return "keep" end }
some(function(h) return h:exp() end, x)
