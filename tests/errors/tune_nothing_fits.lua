local rille = require "rille"
rille.tune.batch_size {
  memory = "16KiB", min = 8,
  step = function(n)
    local x <close> = rille.zeros(n, 1024)
    local y <close> = x:tanh()
  end,
}
