-- rille.optim: optimizers, and learning-rate schedules in rille.optim.lr.
local lazy = require "rille.lazy"

return lazy("rille.optim", { "rille.optim.constructors", "rille.optim.averages",
  "rille.optim.lbfgs", "rille.optim.fused_backward" }, { lr = "rille.optim.lr_names" })
