-- The step of an optimizer, without its closure: one fused call of the engine for all parameters
-- that have taken as many steps, or for one parameter. Run as a unit (native.unit).
local rille = require "rille"
local native = require "rille.native"
local look_for_flushed = require "rille.optim.flushed"
local scope = require "rille.scope".scope

local update = {}

-- Parameters that have a gradient, in batches of equal step count (one batch, nearly always).
local function batches_of(self, group, params)
  local batches, by_step = {}, {}
  for _, t in ipairs(params) do
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

-- What opt:stats() tells of a step is added up here.
function update.no_sums()
  return { update = 0, param = 0, lost = 0 }
end

local function take(self, group, params, sums)
  for _, batch in ipairs(batches_of(self, group, params)) do
    local changed, param, lost = native.optimizer_step(self.name, batch.params, batch.grads,
      batch.states, group, batch.step)
    if changed then
      sums.update, sums.param = sums.update + changed, sums.param + param
      sums.lost = sums.lost + lost
    end
  end
end

-- One parameter, whose gradient is freed.
function update.one(self, group, t, sums)
  local _ <close> = rille.no_grad()
  local _ <close> = scope() -- what looks at a gradient holds its memory
  take(self, group, { t }, sums)
  t.grad = nil
end

function update.all(self)
  local _ <close> = rille.no_grad()
  local _ <close> = scope()
  look_for_flushed(self)
  local sums = self.fused and self.fused:taken() or update.no_sums()
  for _, group in ipairs(self.groups) do take(self, group, group.params, sums) end
  self.step_count, self.sums = self.step_count + 1, sums
end

return update
