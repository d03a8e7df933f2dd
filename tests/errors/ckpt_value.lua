local rille = require "rille"
local temperature = 1.0
local function block(h)
  return (h / temperature):exp()
end
local x = rille.ones(3, { requires_grad = true })
local verified = rille.checkpointer { determinism = "values" }
local loss = verified(block, x):sum()
temperature = 2.0
loss:backward()
