local rille = require "rille"
local model, mask = rille.nn.Linear(4, 4), rille.ones(4)
rille.tune.batch_size {
  model = model,
  step = function(n)
    model(rille.randn(n, 4) * mask):sum():backward()
  end,
}
