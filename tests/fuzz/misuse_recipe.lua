-- A declared recipe in which some fields are wrong, chosen by MISUSE_SEED: misuse.sh runs it often.
local rille = require "rille"
local dice = require "misuse.dice"
local values = require "misuse.values"
local nn, optim, data = rille.nn, rille.optim, rille.data

local recipe = {
  name = "wrong",
  args = { width = 4, lr = 0.01, steps = 3 },
  setup = function(self, args)
    self.model = nn.Linear(3, args.width)
    self.optimizer = optim.SGD(self.model:parameters(), { lr = args.lr })
    self.set = data.table { x = rille.randn(12, 3), y = rille.randn(12, 4) }
  end,
  batches = function(self) return data.Loader(self.set, { batch = 4 }) end,
  loss = function(self, batch) return rille.mse_loss(self.model(batch.x), batch.y) end,
  evaluate = { every = 2, batches = 1 },
  save = { every = 2, keep = 2 },
  clip = 1.0,
  log = { every = 1 },
  on = { step = function() end },
}

local fields = { "name", "args", "setup", "batches", "loss", "evaluate", "save", "clip", "log",
  "on", "accumulate", "amp", "sample", "on_nonfinite", "unknown" }
local inner = { "every", "batches", "keep", "step", "best", "fn", "width", "steps" }
local own = { "model", "optimizer", "schedule", "set", "train", "scaler" }

local d = dice(tonumber(os.getenv "MISUSE_SEED"), 1)
local field = d:pick(fields)
local n = d:int(3)
if n == 1 then
  recipe[field] = values.any(d)
elseif n == 2 and type(recipe[field]) == "table" then
  recipe[field][d:pick(inner)] = values.any(d)
else                                                     -- what setup makes is wrong
  local setup, name, value = recipe.setup, d:pick(own), values.any(d)
  recipe.setup = function(self, args)
    setup(self, args)
    self[name] = value
  end
end
return rille.recipe(recipe)
