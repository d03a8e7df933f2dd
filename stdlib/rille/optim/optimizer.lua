-- What every optimizer shares: groups of parameters with options of their own, the step, its state
-- by parameter name. A parameter without a gradient is skipped, its own step count stands still.
local rille = require "rille"
local native = require "rille.native"
local class = require "rille.class"
local common = require "rille.optim.common"
local fail = require "rille.fail"
local check = require "rille.check"
local parameter = require "rille.parameter"
local read_options = require "rille.options"
local saved_state = require "rille.optim.saved"
local lasting = require "rille.scope".lasting
local update = require "rille.optim.update"
local watching = require "rille.watching"

local is_module = require "rille.nn.module".is_module

local Optimizer = class "Optimizer"
local methods = Optimizer.__index

local function check_ranges(op, group)
  for _, name in ipairs { "lr", "weight_decay", "eps", "momentum" } do
    local value = group[name]
    if value and value ~= value then fail.argument(op, "'%s' must not be nan", name) end
    if value and value < 0 then
      fail.argument(op, "'%s' must not be negative, got %s", name, tostring(value))
    end
  end
  if group.state_dtype then native.check_state_dtype(op, group.state_dtype) end
  if group.betas and #group.betas ~= 2 then
    fail.argument(op, "'betas' must be two numbers, got %d", #group.betas)
  end
  for i, beta in ipairs(group.betas or {}) do
    check(op, ("betas[%d]"):format(i), beta, { type = "number" })
    local fits = beta >= 0 and beta < 1
    if not fits then
      fail.argument(op, "beta %d must be in [0, 1), got %s", i, tostring(beta))
    end
  end
end

-- `params` is a list of tensors or of groups { params = list, lr = ... }.
--: name: string, kind: table, params: table -> rille.optim.Optimizer
function Optimizer.new(name, kind, params, options)
  local self = setmetatable({}, Optimizer)
  self.name, self.kind, self.step_count = name, native.shared(kind), 0
  self.groups, self.state, self.held = {}, {}, {}
  self.lowered = native.lowered_to_f16()
  self.known = native.shared(common(kind))
  self.defaults = read_options(name, options, self.known)
  if type(params) ~= "table" then
    fail.type(name, "params", "a list of tensors or groups", params)
  elseif is_module(params) then
    fail.raise {
      kind = "argument", code = "E_TYPE", op = name,
      message = "'params' must be a list of tensors or groups, got a module",
      hint = name .. " takes model:parameters()",
    }
  elseif #params == 0 then
    fail.argument(name, "the list of parameters is empty")
  end
  if native.is_tensor(params[1]) then params = { { params = params } } end
  for i, group in ipairs(params) do
    if type(group) ~= "table" then
      fail.type(name, "params[" .. i .. "]", "a tensor or a group", group)
    end
    self:add_group(group)
  end
  return self
end

local function scalars(group)
  local copy = {}
  for key, value in pairs(group) do
    if key ~= "params" then copy[key] = value end
  end
  return copy
end

-- More parameters, with options of their own.
--: group: rille.optim.group -> rille.optim.Optimizer
function Optimizer:add_group(group)
  check(self.name .. ".add_group", "group", group, { type = "table" })
  local own, list = {}, group.params
  if native.is_tensor(list) then list = { list } end
  if type(list) ~= "table" then fail.type(self.name, "params", "a list of tensors", list) end
  for _, entry in ipairs(self.known) do own[entry[1]] = self.defaults[entry[1]] end
  local given = scalars(group)
  local read = read_options(self.name, given, self.known)
  for key in pairs(given) do own[key] = read[key] end
  check_ranges(self.name, own)
  local wrong = self.kind.check and self.kind.check(own)
  if wrong then fail.option(self.name, "%s", wrong) end
  own.params = {}
  for i, t in ipairs(list) do
    if not native.is_tensor(t) then fail.type(self.name, "params[" .. i .. "]", "a tensor", t) end
    if not t.dtype:match "^b?f" then
      fail.raise {
        kind = "dtype", code = "E_DTYPE", op = self.name,
        message = ("params[%d] must be of a floating dtype, got %s"):format(i, t.dtype),
      }
    end
    if not t.is_leaf then fail.argument(self.name, "params[%d] is no leaf: it was computed", i) end
    if self.held[t] then fail.argument(self.name, "params[%d] is there twice", i) end
    self.held[t] = true
    own.params[i] = t
  end
  self.groups[#self.groups + 1] = own
  return self
end

local function clear_grads(self, keep)
  for _, group in ipairs(self.groups) do
    for _, t in ipairs(group.params) do
      if not keep then
        t.grad = nil
      elseif t.grad then
        t.grad:zero_()
      end
    end
  end
end

-- Gradients are taken away, or filled with zeros.
function Optimizer:zero_grad(options)
  local o = options ~= nil and read_options("zero_grad", options, {
    { "set_to_none", true, doc = "false: they become zeros" },
  })
  native.unit(clear_grads, self, o and not o.set_to_none)
end

local function fresh_state(self, t, group)
  local state, dtype = { step = 0 }, group.state_dtype
  for _, name in ipairs(self.kind.state(group)) do
    state[name] = rille.zeros_like(t, { dtype = dtype, requires_grad = false })
    if dtype then state[name .. "_scale"] = native.state_scales(t:numel(), dtype) end
  end
  if group.master_weights and t.dtype ~= "f32" and t.dtype ~= "f64" then
    state.master = t:detach():to("f32")
  end
  return state
end

-- The table of a parameter's state tensors, made when it first has a gradient.
--: t: rille.Tensor, group: rille.optim.group -> table
function Optimizer:state_of(t, group)
  local state = self.state[t]
  if state then return state end
  check("state_of", "t", t, { type = "rille.Tensor" })
  check("state_of", "group", group, { type = "table" })
  state = lasting(fresh_state, self, t, group)
  self.state[t] = state
  return state
end

-- The closure computes the loss anew and runs backward; its loss is returned. What follows it is
-- whole: a limit or an interrupt waits until all parameters have taken the step.
--: closure?: fun(): rille.Tensor -> rille.Tensor?
function Optimizer:step(closure)
  local loss
  if closure ~= nil then check(self.name .. ".step", "closure", closure, { type = "fun" }) end
  if closure then loss = rille.enable_grad(closure) end
  native.unit(update.all, self)
  if watching.current then watching.current() end
  return loss
end

-- What the last step did to the groups that were made with stats = true: the norms of the update
-- and of the parameters after it, and how many elements kept their value although their gradient is
-- not 0, because the update was too small for their dtype.
--: -> table
function Optimizer:stats()
  local measured = false
  for _, group in ipairs(self.groups) do measured = measured or group.stats end
  if not measured or not self.sums then
    fail.raise {
      kind = "state", code = "E_STATE", op = self.name .. ".stats",
      message = measured and "there was no step yet" or "the steps are not measured",
      hint = not measured and "make the optimizer with stats = true" or nil,
    }
  end
  local sums = self.sums
  return {
    update_norm = math.sqrt(sums.update), param_norm = math.sqrt(sums.param),
    lost_updates = sums.lost,
  }
end

-- Parameters as { key, tensor } in order: by name where every name is known and no two are equal,
-- else by position.
local function keyed(self)
  local list, seen, named = {}, {}, true
  for _, group in ipairs(self.groups) do
    for _, t in ipairs(group.params) do
      local name = parameter.name(t)
      named = named and name ~= nil and not seen[name]
      if name then seen[name] = true end
      list[#list + 1] = { name, t }
    end
  end
  for i, entry in ipairs(list) do
    if not named then entry[1] = tostring(i) end
  end
  return list
end

--: -> table
function Optimizer:state_dict()
  local dict = { kind = self.name, step_count = self.step_count, groups = {}, state = {} }
  for i, group in ipairs(self.groups) do dict.groups[i] = scalars(group) end
  for _, entry in ipairs(keyed(self)) do
    local state = self.state[entry[2]]
    if state then
      local copy = {}
      for key, value in pairs(state) do copy[key] = value end
      dict.state[entry[1]] = copy
    end
  end
  return dict
end

local function adopt(self, groups, state, step_count)
  for i, group in ipairs(groups) do
    for name, value in pairs(group) do self.groups[i][name] = value end
  end
  self.state, self.step_count = state, step_count
end

--: dict: table
function Optimizer:load_state_dict(dict)
  local op = self.name .. ".load_state_dict"
  saved_state.check_outline(self, op, dict)
  local by_key, unknown = {}, {}
  for _, entry in ipairs(keyed(self)) do by_key[entry[1]] = entry[2] end
  for key in pairs(dict.state) do
    if not by_key[key] then unknown[#unknown + 1] = native.shown(tostring(key)) end
  end
  table.sort(unknown)
  if unknown[1] then
    fail.state(op, "state of unknown parameters: %s", table.concat(unknown, ", "))
  end
  saved_state.check_parts(self, op, dict, by_key)
  local state = {}
  for key, saved in pairs(dict.state) do
    local t, copy = by_key[key], {}
    for name, value in pairs(saved) do
      copy[name] = native.is_tensor(value) and value:to(t.device):clone() or value
    end
    state[t] = copy
  end
  local groups = {}
  for i, group in ipairs(dict.groups) do groups[i] = scalars(group) end
  native.unit(adopt, self, groups, state, dict.step_count)
end

function Optimizer.__index(self, key)
  if key == "param_groups" then return rawget(self, "groups") end
  return methods[key]
end

function Optimizer:__tostring()
  local lines = { self.name .. " (" }
  for i, group in ipairs(self.groups) do
    local parts = {}
    for _, entry in ipairs(self.known) do
      local value = group[entry[1]]
      if type(value) == "table" then value = "{" .. table.concat(value, ", ") .. "}" end
      if value ~= nil and value ~= false then
        parts[#parts + 1] = entry[1] .. " = " .. native.shown(tostring(value))
      end
    end
    local text = table.concat(parts, ", ")
    lines[#lines + 1] = ("  group %d: %d parameters, %s"):format(i, #group.params, text)
  end
  return table.concat(lines, "\n") .. "\n)"
end

return Optimizer
