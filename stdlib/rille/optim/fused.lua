-- Steps during backward, a parameter at a time, so that not all gradients live at once: what
-- optim.fused_backward gives. A leaf's gradient is complete when its hook runs, and all ops that
-- read the parameter on the way to it have had their turn, so the parameter may change.
local rille = require "rille"
local native = require "rille.native"
local class = require "rille.class"
local fail = require "rille.fail"
local marked = require "rille.optim.fused_params".marked
local parameter = require "rille.parameter"
local update = require "rille.optim.update"

local op = "fused_backward"

local FusedBackward = class "FusedBackward"

local function refuse(code, hint, message, ...)
  fail.raise { kind = "state", code = code, op = op, hint = hint, message = message:format(...) }
end

local function name_of(t, i)
  return native.shown(parameter.name(t) or ("params[%d]"):format(i))
end

-- What this can't give the result of backward and step for.
local function check_gradient(self, t, i)
  if rille.is_grad_enabled() then
    refuse("E_FUSED_CREATE_GRAPH", "leave create_graph out, or end fused_backward first",
      "a backward that is recorded itself needs the parameters as they were")
  elseif native.gradient_scaled(t) then
    refuse("E_FUSED_SCALER", "train in bf16, which needs no scaler, or end fused_backward first",
      "the gradient of '%s' is still multiplied by a scale", name_of(t, i))
  elseif self.stepped[i] then
    refuse("E_FUSED_TWICE", "call optimizer:step() after each backward; gradients of several \z
      are only added up without fused_backward",
      "'%s' has taken its step already since optimizer:step()", name_of(t, i))
  end
end

-- A gradient that is refused is freed, too: no later step finds it.
local function complete(self, group, t, i)
  local fine, err = pcall(check_gradient, self, t, i)
  if not fine then
    t.grad = nil
    error(err, 0)
  end
  self.stepped[i] = true
  native.unit(update.one, self.optimizer, group, t, self.sums)
end

-- The hook is held by its tensor, so it must not hold the tensor or what leads to it.
local function add(self, group, t)
  local weak = setmetatable({ self = self, group = group }, { __mode = "v" })
  local i = #self.ids + 1
  self.params[i], marked[t] = t, true
  self.ids[i] = native.after_accumulate(t, function()
    local own = weak.self
    if own then complete(own, weak.group, own.params[i], i) end
  end)
end

--: optimizer: rille.optim.Optimizer -> rille.optim.FusedBackward
function FusedBackward.new(optimizer)
  local self = setmetatable({
    optimizer = optimizer, ids = {}, params = setmetatable({}, { __mode = "v" }),
    stepped = {}, sums = update.no_sums(),
  }, FusedBackward)
  for _, group in ipairs(optimizer.groups) do
    for _, t in ipairs(group.params) do add(self, group, t) end
  end
  optimizer.fused = self
  return self
end

local function finish(self)
  if self.ended then return end
  self.ended = true
  for i, id in ipairs(self.ids) do
    local t = self.params[i]                               -- weak: it may be gone
    if t then
      native.remove_after_accumulate(t, id)
      marked[t] = nil
    end
  end
  if self.optimizer.fused == self then self.optimizer.fused = nil end
end

FusedBackward.__close, FusedBackward.__gc = finish, finish

-- Backward only adds up gradients again, as without it. A second call does nothing.
function FusedBackward:close()
  finish(self)
end

-- What the steps since the last call have summed up; the next ones begin anew.
function FusedBackward:taken()
  local sums = self.sums
  self.stepped, self.sums = {}, update.no_sums()
  return sums
end

function FusedBackward:__tostring()
  return ("FusedBackward (%s, %d parameters%s)"):format(self.optimizer.name, #self.ids,
    self.ended and ", ended" or "")
end

return FusedBackward
