-- The step of an optimizer, without its closure: one fused call of the engine for all parameters
-- that have taken as many steps. Run as a unit (native.unit).
local rille = require "rille"
local native = require "rille.native"
local look_for_flushed = require "rille.optim.flushed"
local scope = require "rille.scope".scope

-- Parameters that have a gradient, in batches of equal step count (one batch, nearly always).
local function batches_of(self, group)
  local batches, by_step = {}, {}
  for _, t in ipairs(group.params) do
    local grad = t.grad
    if grad then
      local state = self:state_of(t, group)
      state.step = state.step + 1
      local batch = by_step[state.step]
      if not batch then
        batch = { step = state.step, params = {}, grads = {}, states = {} }
        by_step[state.step], batches[#batches + 1] = batch, batch
      end
      local n = #batch.params + 1
      batch.params[n], batch.grads[n], batch.states[n] = t, grad, state
    end
  end
  return batches
end

return function(self)
  local _ <close> = rille.no_grad()
  local _ <close> = scope() -- what looks at a gradient holds its memory
  look_for_flushed(self)
  local sums = { update = 0, param = 0, lost = 0 }
  for _, group in ipairs(self.groups) do
    for _, batch in ipairs(batches_of(self, group)) do
      local update, param, lost = native.optimizer_step(self.name, batch.params, batch.grads,
        batch.states, group, batch.step)
      if update then
        sums.update, sums.param = sums.update + update, sums.param + param
        sums.lost = sums.lost + lost
      end
    end
  end
  self.step_count, self.sums = self.step_count + 1, sums
end
