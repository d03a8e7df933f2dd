-- What the states of loaders and windows have in common: an epoch and the batches had in it.
local check = require "rille.check"

local count = { type = "integer", min = 0 }

return function(op, state)
  op = op .. ".load_state"
  check(op, "state", state, { type = "table" })
  check(op, "state.epoch", state.epoch, count)
  check(op, "state.batches", state.batches, count)
  check(op, "state.seed", state.seed or 0, { type = "integer" })
end
