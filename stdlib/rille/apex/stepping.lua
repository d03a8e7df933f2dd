-- What amp.initialize does to optimizers: f32 copies of narrow parameters where the properties ask
-- for them, and steps that scale_loss may have said are to be left out.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local fail = require "rille.fail"
local scopes = require "rille.scope"
local state = require "rille.apex.state"

local stepping = {}

-- Iterates parameters and their groups.
local function each_param(optimizer)
  local list = {}
  for _, group in ipairs(optimizer.groups) do
    for _, t in ipairs(group.params) do list[#list + 1] = { t, group } end
  end
  local i = 0
  return function()
    i = i + 1
    if list[i] then return list[i][1], list[i][2] end
  end
end
stepping.each_param = each_param

local function is_narrow(t)
  return t.dtype == "f16" or t.dtype == "bf16"
end

-- The f32 copy that is stepped for a parameter, or the parameter itself.
local function master_of(optimizer, t, group)
  if not (group.master_weights and is_narrow(t)) then return t end
  return optimizer:state_of(t, group).master or t
end

-- State from before the cast becomes of the dtype in which the steps will run.
local function recast(optimizer)
  local _ <close> = rille.no_grad()
  for t, group in each_param(optimizer) do
    local kept = optimizer.state[t]
    for name, value in pairs(kept or {}) do
      local coded = kept[name .. "_scale"] or name:match "_scale$" -- in eight bits as it is
      if native.is_tensor(value) and not coded then
        kept[name] = scopes.lasting(value.to, value, group.state_dtype or t.dtype)
      end
    end
    if kept and group.master_weights and is_narrow(t) and not kept.master then
      kept.master = scopes.lasting(t.to, t:detach(), "f32")
    end
  end
end

local function use_masters(optimizer)
  if not optimizer.state_of then
    fail.option("initialize", "%s keeps no f32 copies: O1 needs none", optimizer.name)
  end
  for _, group in ipairs(optimizer.groups) do
    group.master_weights = true
    group.state_dtype = group.state_dtype or "f32"
  end
  optimizer.defaults.master_weights = true
  optimizer.defaults.state_dtype = optimizer.defaults.state_dtype or "f32"
end

local function refuse_closure(closure)
  if closure ~= nil then
    fail.option("step", "a closure's gradients would be scaled: step takes none after "
      .. "amp.initialize with a scaled loss")
  end
end

local function refuse_open(record)
  if record.open then
    fail.state("step", "the scale_loss of %s has not ended: the gradients are still scaled",
      record.open)
  end
end

-- The gradients that master_params showed.
local function forget_shown(record)
  for _, master in ipairs(record.shown) do master.grad = nil end
  record.shown = {}
end

local function skip_step(optimizer, record)
  local skip = record.skip
  record.skip = nil
  state:say("gradient overflow: step skipped, loss scaler %d reduces its scale to %g",
    skip.loss_id, skip.scale)
  if not record.masters then return end
  forget_shown(record)
  for t in each_param(optimizer) do t.grad = nil end
end

-- The optimizer's own step, or what stands in its place this once.
local function stepper(optimizer, record, step)
  return function(self, closure, ...)
    refuse_open(record)
    if record.masters or record.skip then refuse_closure(closure) end
    if record.skip then return skip_step(optimizer, record) end
    forget_shown(record)                                 -- the step reads what they share
    if not record.casts then return step(self, closure, ...) end
    local _ <close> = rille.amp.autocast { device = record.device, enabled = false }
    return step(self, closure, ...)
  end
end

-- Once an optimizer and initialize; a later initialize finds the step that it had at first.
function stepping.prepare(optimizer, properties)
  local known = state.optimizers[optimizer]
  local record = {
    step = known and known.step or optimizer.step, masters = properties.master_weights == true,
    shown = {}, casts = properties.patch_functions, device = rille.default_device():match "^%a+",
  }
  state.optimizers[optimizer] = record
  if record.masters then use_masters(optimizer) end
  if optimizer.defaults and properties.cast_model_type then recast(optimizer) end
  rawset(optimizer, "step", stepper(optimizer, record, record.step))
end

-- f32 copies follow what was loaded into the parameters.
function stepping.renew_masters(model)
  local loaded = {}
  for _, t in ipairs(model:parameters()) do loaded[t] = true end
  local _ <close> = rille.no_grad()
  for optimizer, record in pairs(state.optimizers) do
    if record.masters then
      for t in each_param(optimizer) do
        local kept = loaded[t] and optimizer.state[t]
        if kept and kept.master then kept.master:copy_(t) end
      end
    end
  end
end

-- The tensors that the optimizer steps: f32 copies where it keeps some, with the gradients that
-- amp.scale_loss has unscaled. Clip these.
--: optimizer: rille.optim.Optimizer -> rille.Tensor[]
function stepping.master_params(optimizer)
  check("master_params", "optimizer", optimizer, { type = "rille.optim.Optimizer" })
  local list, record = {}, state.optimizers[optimizer]
  for t, group in each_param(optimizer) do
    local master = master_of(optimizer, t, group)
    if record and not rawequal(master, t) then
      local grad = t.grad
      master.grad = grad and grad.dtype == "f32" and grad or nil
      record.shown[#record.shown + 1] = master
    end
    list[#list + 1] = master
  end
  return list
end

return stepping
