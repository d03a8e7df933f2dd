-- Lowers the rate when a metric has stopped improving: schedule:step(metric). The engine judges
-- (runtime/optim/plateau.h), for C++ hosts, too.
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"
local must_be_optimizer = require "rille.optim.given"
local read_options = require "rille.options"

local Plateau = class "Schedule"

local known = {
  { "mode", "min", type = '"min"|"max"', doc = "whether less is better or more" },
  { "factor", 0.1, min = 0, below = 1, doc = "what the rate is lowered by" },
  { "patience", 10, min = 0, doc = "steps without a better metric that are borne" },
  { "threshold", 1e-4, min = 0, doc = "how much better counts" },
  { "threshold_mode", "rel", type = '"rel"|"abs"', doc = "as a part of the best, or as it is" },
  { "cooldown", 0, min = 0, doc = "steps after a change that count for nothing" },
  { "min_lr", 0.0, min = 0, doc = "the lowest rate" },
  { "eps", 1e-8, min = 0, doc = "a lesser change is not made" },
}

-- Lowers the rate when a metric has stopped improving: schedule:step(metric).
--: optimizer: rille.optim.Optimizer -> rille.optim.lr.Schedule
local function new(optimizer, options)
  must_be_optimizer("Plateau", optimizer)
  local self = setmetatable({ name = "Plateau", optimizer = optimizer }, Plateau)
  self.options = read_options("Plateau", options, known)
  self.best = self.options.mode == "min" and math.huge or -math.huge
  self.bad, self.resting = 0, 0
  return self
end

-- Returns whether the rate was lowered.
function Plateau:step(metric)
  if native.is_tensor(metric) then metric = metric:item() end
  check("Plateau.step", "metric", metric, { type = "number" })
  local lower
  self.best, self.bad, self.resting, lower =
    native.plateau(self.options, self.best, self.bad, self.resting, metric)
  if not lower then return false end
  local lowered = false
  for _, group in ipairs(self.optimizer.groups) do
    local rate = native.plateau_rate(self.options, group.lr)
    lowered = lowered or rate < group.lr
    group.lr = rate
  end
  return lowered
end

function Plateau:state_dict()
  return { best = self.best, bad = self.bad, resting = self.resting }
end

function Plateau:load_state_dict(state)
  local op = "Plateau.load_state_dict"
  check(op, "state", state, { type = "table" })
  check(op, "state.best", state.best, { type = "number" })
  check(op, "state.bad", state.bad, { type = "integer", min = 0 })
  check(op, "state.resting", state.resting, { type = "number", min = 0 })
  self.best, self.bad, self.resting = state.best, state.bad, state.resting
end

return { new = new }
