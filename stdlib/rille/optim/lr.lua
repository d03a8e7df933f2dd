-- Schedules: a curve tied to an optimizer. The rate is a pure function of the step, so a
-- schedule's state is one number and resuming can't drift.
local fail = require "rille.fail"
local read_options = require "rille.options"
local curves = require "rille.optim.curves"

local Schedule = { __name = "Schedule" }
Schedule.__index = Schedule

local function set_momentum(group, momentum)
  if not momentum then return end
  if group.betas then
    group.betas = { momentum, group.betas[2] }
  elseif group.momentum then
    group.momentum = momentum
  end
end

-- Writes the rates of the current step into the optimizer's groups.
local function write(self)
  for i, group in ipairs(self.optimizer.groups) do
    local rate, momentum = self.curve.rate(self.options, self.count, self.bases[i])
    group.lr = rate
    set_momentum(group, momentum)
  end
end

local function new(name, curve, optimizer, options)
  if type(optimizer) ~= "table" or not optimizer.groups then
    fail.type(name, "optimizer", "an optimizer", optimizer)
  end
  local self = setmetatable({ name = name, curve = curve, options = options }, Schedule)
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
-- moves nothing); returns whether it did.
function Schedule:step()
  if self.optimizer.step_count == self.seen then return false end
  self.seen, self.count = self.optimizer.step_count, self.count + 1
  write(self)
  return true
end

-- The rate of the first group (or of another) at a step, counted from 0.
function Schedule:at(step, group)
  return (self.curve.rate(self.options, step, self.bases[group or 1]))
end

-- The rates now in force, one a group.
function Schedule:get_last_lr()
  local rates = {}
  for i, group in ipairs(self.optimizer.groups) do rates[i] = group.lr end
  return rates
end

function Schedule:state_dict()
  return { step = self.count }
end

function Schedule:load_state_dict(state)
  self.count, self.seen = state.step, self.optimizer.step_count
  write(self)
end

function Schedule:__tostring()
  return ("%s (step %d, lr %g)"):format(self.name, self.count, self.optimizer.groups[1].lr)
end

-- One schedule after another; all but the last must have an end. The next one counts from 0.
local function chain(...)
  local parts = { ... }
  if #parts < 2 then fail.argument("chain", "needs two schedules or more, got %d", #parts) end
  for i, part in ipairs(parts) do
    if getmetatable(part) ~= Schedule then fail.type("chain", "#" .. i, "a schedule", part) end
    if part.optimizer ~= parts[1].optimizer then
      fail.argument("chain", "#%d is of another optimizer", i)
    end
    local length = part.curve.length and part.curve.length(part.options)
    if not length and i < #parts then
      fail.argument("chain", "%s has no end, so it must be last", part.name)
    end
  end
  local curve = {
    rate = function(_, step, base)
      for i = 1, #parts - 1 do
        local length = parts[i].curve.length(parts[i].options)
        if step < length then return parts[i].curve.rate(parts[i].options, step, base) end
        step = step - length
      end
      return parts[#parts].curve.rate(parts[#parts].options, step, base)
    end,
    length = function()
      local total = 0
      for _, part in ipairs(parts) do
        local length = part.curve.length and part.curve.length(part.options)
        if not length then return nil end
        total = total + length
      end
      return total
    end,
  }
  return new("chain", curve, parts[1].optimizer, {})
end

local lr = { chain = chain, Plateau = require "rille.optim.plateau".new }

for name, curve in pairs(curves) do
  lr[name] = function(optimizer, options)
    if name == "Lambda" and type(options) == "function" then options = { factor = options } end
    local read = read_options(name, options, curve.options)
    for _, required in ipairs(curve.required or {}) do
      if read[required] == nil then fail.argument(name, "'%s' is missing", required) end
    end
    return new(name, curve, optimizer, read)
  end
end

return lr
