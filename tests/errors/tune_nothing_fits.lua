local rille = require "rille"
local model = rille.nn.Linear(512, 512)
rille.tune.batch_size {
  model = model, memory = "2MiB", min = 8,
  step = function(n)
    model(rille.randn(n, 512)):square():mean():backward()
  end,
}
