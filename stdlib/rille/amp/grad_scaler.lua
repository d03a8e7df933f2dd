-- The scaler that amp.GradScaler makes. The engine keeps the scale, the state of each optimizer and
-- the rules (runtime/amp/grad_scaler.h), for C++ hosts, too; the optimizer is called here.
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"
local fail = require "rille.fail"
local must_be_optimizer = require "rille.optim.given"
local parameter = require "rille.parameter"
local warn_once = require "rille.warn_once"

local GradScaler = class "GradScaler"

--: options: table -> rille.amp.GradScaler
function GradScaler.new(options)
  local engine = native.grad_scaler(options)
  warn_once(engine:take_warning())
  return setmetatable({
    engine = engine, wanted = engine:enabled(), numbers = setmetatable({}, { __mode = "k" }),
    count = 0,
  }, GradScaler)
end

-- Where nothing is computed no gradient can be looked at: then it does what a disabled one does.
local function stands_aside(self)
  return not self:is_enabled() or native.rehearsed() ~= nil
end

-- `open` are the tables that the value lies in.
local function scaled(self, value, open)
  if native.is_tensor(value) then return self.engine:scale(value) end
  if type(value) ~= "table" then
    fail.type("GradScaler.scale", "x", "a tensor or a table of tensors", value)
  end
  if open[value] then fail.argument("GradScaler.scale", "'x' is a table that holds itself") end
  local copy = {}
  open[value] = true
  for key, part in pairs(value) do copy[key] = scaled(self, part, open) end
  open[value] = nil
  return copy
end

-- A loss times the scale, ready for backward; of a table a table with all of its losses scaled.
--: x: rille.Tensor|table -> rille.Tensor|table
function GradScaler:scale(x)
  if stands_aside(self) then return x end
  local result = scaled(self, x, {})
  if self:is_enabled() then return result end
  warn_once(self.engine:take_warning())
  return x
end

-- What the engine is told of an optimizer: its number, its name, its parameters, what those are
-- called, which of them it keeps f32 copies of.
local function described(self, op, optimizer)
  must_be_optimizer(op, optimizer, true)
  if optimizer.fused then
    fail.raise {
      kind = "state", code = "E_FUSED_SCALER", op = op,
      message = "the optimizer's parameters have taken their steps during backward",
      hint = "train in bf16, which needs no scaler, or end fused_backward first",
    }
  end
  local number = self.numbers[optimizer]
  if not number then
    self.count = self.count + 1
    number = self.count
    self.numbers[optimizer] = number
  end
  local params, names, masters, n = {}, {}, {}, 0
  for _, group in ipairs(optimizer.groups) do
    for _, t in ipairs(group.params) do
      n = n + 1
      params[n], names[n] = t, parameter.name(t) or ("params[%d]"):format(n)
      masters[n] = group.master_weights == true
    end
  end
  return number, optimizer.name or "the optimizer", params, names, masters
end

-- Divides the optimizer's gradients by the scale, for those who look at them before step: clipping
-- does. Once an iteration, after the last backward.
--: optimizer: rille.optim.Optimizer
function GradScaler:unscale_(optimizer)
  if stands_aside(self) then return end
  self.engine:unscale(described(self, "GradScaler.unscale_", optimizer))
end

-- The step and what the scaler knows of it go together.
local function stepped(self, number, finite, optimizer, ...)
  local result
  if finite then result = optimizer:step(...) end
  self.engine:stepped(number)
  return finite, result
end

-- The optimizer's step where all gradients are finite, which unscale_ has seen or this does.
-- Returns whether it stepped, and what its step returned.
--: optimizer: rille.optim.Optimizer, ...: any -> boolean, any
function GradScaler:step(optimizer, ...)
  if stands_aside(self) then return true, optimizer:step(...) end
  if type((...)) == "function" then
    fail.raise {
      kind = "state", code = "E_SCALER_CLOSURE", op = "GradScaler.step",
      message = "the gradients of a closure would not be checked",
      hint = "run backward of scaler:scale(loss) first, then scaler:step(optimizer)",
    }
  end
  local number, name, params, names, masters = described(self, "GradScaler.step", optimizer)
  local finite = self.engine:step(number, name, params, names, masters)
  optimizer.scaled = true                -- so nobody looks for gradients that f16 has lost
  return native.unit(stepped, self, number, finite, optimizer, ...)
end

-- Ends an iteration: the scale falls where a gradient was not finite, and grows after enough clean
-- ones. With a number, or a tensor of one, that is the scale.
--: scale?: number|rille.Tensor
function GradScaler:update(scale)
  if stands_aside(self) then return end
  if native.is_tensor(scale) then scale = scale:item() end
  if scale ~= nil then check("GradScaler.update", "scale", scale, { type = "number" }) end
  self.engine:update(scale)
end

-- False for one that was made so, that its device is not there for, or whose first loss was bf16.
--: -> boolean
function GradScaler:is_enabled()
  return self.engine:enabled()
end

-- The scale; 1.0 if disabled.
--: -> number
function GradScaler:get_scale()
  return self.engine:get_scale()
end

-- Clean updates in a row.
--: -> integer
function GradScaler:get_growth_tracker()
  return self.engine:growth_tracker()
end

--: -> number
function GradScaler:get_growth_factor()
  return self.engine:growth_factor()
end

--: factor: number
function GradScaler:set_growth_factor(factor)
  self.engine:set_growth_factor(factor)
end

--: -> number
function GradScaler:get_backoff_factor()
  return self.engine:backoff_factor()
end

--: factor: number
function GradScaler:set_backoff_factor(factor)
  self.engine:set_backoff_factor(factor)
end

--: -> integer
function GradScaler:get_growth_interval()
  return self.engine:growth_interval()
end

--: interval: integer
function GradScaler:set_growth_interval(interval)
  self.engine:set_growth_interval(interval)
end

-- Scale, factors and the count of clean updates, under PyTorch's names; empty if disabled. Between
-- unscale_ or step and update it is an error. One that its first loss disabled says so: the loss
-- after load_state_dict decides anew.
--: -> table
function GradScaler:state_dict()
  if self:is_enabled() then return self.engine:state() end
  return self.wanted and { disabled = true } or {}
end

local fields = { "scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker" }

-- A disabled scaler stays as it is.
--: state: table
function GradScaler:load_state_dict(state)
  local op = "GradScaler.load_state_dict"
  check(op, "state", state, { type = "table" })
  if not self:is_enabled() or state.disabled then return end
  if next(state) == nil then
    fail.raise {
      kind = "state", code = "E_SCALER_EMPTY_STATE", op = op,
      message = "the state is empty: it was saved from a disabled scaler",
      hint = "make this one with enabled = false, or load no state",
    }
  end
  for _, name in ipairs(fields) do
    if type(state[name]) ~= "number" then fail.state(op, "the state has no number '%s'", name) end
  end
  self.engine:load(state)
end

function GradScaler:__tostring()
  if not self:is_enabled() then return "GradScaler (disabled)" end
  return ("GradScaler (scale %g)"):format(self:get_scale())
end

return GradScaler
