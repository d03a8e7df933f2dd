-- A curve tied to an optimizer. The rate is a pure function of the step, so a schedule's state is
-- one number and resuming can't drift.
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"

local Schedule = class "Schedule"

local function set_momentum(group, momentum)
  if not momentum then return end
  if group.betas then
    group.betas = { momentum, group.betas[2] }
  elseif group.momentum then
    group.momentum = momentum
  end
end

-- Writes the rates of the current step into the groups that it knows; those that were added later
-- keep their own.
local function write(self)
  for i, base in ipairs(self.bases) do
    local group = self.optimizer.groups[i]
    local rate, momentum = self.curve.rate(self.options, self.count, base)
    group.lr = rate
    set_momentum(group, momentum)
  end
end

function Schedule.new(name, curve, optimizer, options)
  local self = setmetatable({ name = name, options = options }, Schedule)
  self.curve = native.shared(curve)
  self.optimizer = optimizer
  self.count, self.seen, self.bases = 0, optimizer.step_count, {}
  for i, group in ipairs(optimizer.groups) do
    group.initial_lr = group.initial_lr or group.lr
    self.bases[i] = group.initial_lr
  end
  write(self)
  return self
end

-- Moves on only if the optimizer has stepped since the last call (a step that a GradScaler skipped
-- moves nothing), or always with skip_aware = false; returns whether it did.
--: -> boolean
function Schedule:step()
  local waits = self.options.skip_aware ~= false
  if waits and self.optimizer.step_count == self.seen then return false end
  self.seen, self.count = self.optimizer.step_count, self.count + 1
  write(self)
  return true
end

-- The rate of the first group (or of another) at a step, counted from 0.
--: step: integer, group?: integer -> number
function Schedule:at(step, group)
  local op = self.name .. ".at"
  check(op, "step", step, { type = "number", min = 0 })
  check(op, "group", group or 1, { type = "integer", min = 1, max = #self.bases })
  return (self.curve.rate(self.options, step, self.bases[group or 1]))
end

-- The rates now in force, one a group.
--: -> number[]
function Schedule:get_last_lr()
  local rates = {}
  for i, group in ipairs(self.optimizer.groups) do rates[i] = group.lr end
  return rates
end

--: -> table
function Schedule:state_dict()
  return { step = self.count }
end

--: state: table
function Schedule:load_state_dict(state)
  local op = self.name .. ".load_state_dict"
  check(op, "state", state, { type = "table" })
  check(op, "state.step", state.step, { type = "integer", min = 0 })
  self.count, self.seen = state.step, self.optimizer.step_count
  write(self)
end

function Schedule:__tostring()
  return ("%s (step %d, lr %g)"):format(self.name, self.count, self.optimizer.groups[1].lr)
end

return Schedule
