local rille = require "rille"
local model = rille.nn.Linear(4, 4)
rille.tune.batch_size {
  model = model,
  step = function(n)
    local loss = model(rille.randn(n, 4)):sum()
    print(loss:item())
  end,
}
