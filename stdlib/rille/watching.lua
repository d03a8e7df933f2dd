-- The watch that optimizers tell of their steps (rille.memory.watch), if there is one.
return require "rille.run_state" { current = false }
