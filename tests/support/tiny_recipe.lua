-- The smallest recipe that trains: for tests of the shell around it.
local rille = require "rille"
local nn, optim = rille.nn, rille.optim

return rille.recipe {
  name = "tiny",
  args = { steps = 5, width = 4 },
  setup = function(self, args)
    self.model = nn.Linear(args.width, 1)
    self.optimizer = optim.SGD(self.model:parameters(), { lr = 0.01 })
  end,
  batches = function(_, args)
    return function() return { x = rille.ones(2, args.width) } end
  end,
  loss = function(self, batch) return self.model(batch.x):square():mean() end,
}
