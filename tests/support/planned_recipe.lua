-- Recipes of three kinds of models whose fourth step tells the peak of its memory: what
-- tests/support/planned.sh compares a plan with. models.lua of benchmarks/ lies beside it.
local rille = require "rille"
local models = require "models"
local nn, optim = rille.nn, rille.optim

local kinds = {}

local function sgd(model)
  return optim.SGD(model:parameters(), { lr = 0.05, momentum = 0.9, weight_decay = 5e-4 })
end

function kinds.mlp()
  local model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
    nn.Linear(1024, 10))
  return model, optim.AdamW(model:parameters(), { lr = 1e-3 }), function()
    return { x = rille.randn(256, 784), y = rille.randint(0, 9, 256) }
  end
end

function kinds.gpt()
  local model = models.GPT { vocab = 65, layers = 4, heads = 4, width = 128, context = 256 }
  return model, models.adamw(model), function()
    return { x = rille.randint(0, 64, 8, 256), y = rille.randint(0, 64, 8, 256) }
  end
end

function kinds.resnet()
  local model = models.resnet18()
  return model, sgd(model), function()
    return { x = rille.randn(8, 3, 32, 32), y = rille.randint(0, 9, 8) }
  end
end

return rille.recipe {
  name = "planned",
  args = { kind = "mlp", steps = 4 },
  setup = function(self, args)
    self.model, self.optimizer, self.draw = kinds[args.kind]()
  end,
  batches = function(self) return self.draw end,
  loss = function(self, batch)
    if self.args.kind == "gpt" then return self.model(batch.x, batch.y) end
    return rille.cross_entropy(self.model(batch.x), batch.y)
  end,
  log = { every = 0 },
  on = { step = function(_, _, step)
    if step == 3 then rille.memory.reset_peak() end
    if step == 4 then print("measured " .. rille.memory.peak()) end
  end },
}
