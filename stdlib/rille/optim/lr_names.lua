-- rille.optim.lr, read-only.
return require "rille.lazy"("rille.optim.lr", { "rille.optim.lr" })
