-- A declared recipe whose loss is nan ends at that step.
local rille = require "rille"

local recipe = rille.recipe {
  name = "broken", args = { steps = 5 },
  setup = function(self)
    self.model = rille.nn.Linear(2, 1)
    self.optimizer = rille.optim.SGD(self.model:parameters(), { lr = 0.1 })
    self.state = { step = 0 }
  end,
  batches = function() return { rille.ones(2, 2) } end,
  loss = function(self, x)
    self.state.step = self.state.step + 1
    return self.model(x):mean() * (self.state.step < 3 and 1 or 0 / 0)
  end,
}

local path, stderr = os.tmpname(), io.stderr
os.remove(path)
io.stderr = { write = function(self) return self end }   -- no line of progress, it tells times
local ok, err = pcall(recipe.run, recipe, { "--out", path })
io.stderr = stderr
require "rille.native".remove_all(path)
assert(not ok)
error(err, 0)
