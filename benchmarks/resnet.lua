-- W6: the training step of a ResNet-18 on 32 images of 3 x 32 x 32: forward, backward, SGD with
-- momentum; in f32 and under bf16 autocast.
local rille = require "rille"
local measure = require "measure"
local models = require "models"

local function case(name, wrap)
  if not measure.wants(name) then return end
  local model = models.resnet18()
  local optimizer = rille.optim.SGD(model:parameters(),
    { lr = 0.05, momentum = 0.9, weight_decay = 5e-4 })
  local x, y = rille.randn(32, 3, 32, 32), rille.randint(0, 9, 32)
  measure.classifier(name, model, optimizer, x, y, wrap)
end

case("step")
case("step_bf16", measure.bf16)
