-- amp.initialize(models, optimizers, options): prepares models and optimizers for an opt level.
-- Lists in, lists out; called once, with all that trains.
local rille = require "rille"
local native = require "rille.native"
local cast_model = require "rille.apex.cast_model"
local fail = require "rille.fail"
local is_module = require "rille.nn.module".is_module
local lists = require "rille.apex.lists"
local LossScaler = require "rille.apex.loss_scaler"
local properties_of = require "rille.apex.properties"
local read_options = require "rille.options"
local registered = require "rille.apex.registered"
local state = require "rille.apex.state"
local stepping = require "rille.apex.stepping"
local values = require "rille.apex.values"

local op, told = "initialize", 5

local known = {
  { "enabled", true, doc = "false: everything passes through as it is" },
  { "opt_level", "O1", type = "string",
    doc = "O0: f32; O1: casts around ops; O2: an f16 model with f32 copies; O3: f16" },
  { "cast_model_type", type = "rille.dtype", doc = "of parameters and buffers" },
  { "patch_functions", type = "boolean", doc = "casts around ops, which O1 has" },
  { "keep_batchnorm_fp32", type = "boolean|string", doc = "batch norms stay f32" },
  { "master_weights", type = "boolean", doc = "the optimizer steps f32 copies" },
  { "loss_scale", type = "number|string", doc = 'a number, or "dynamic"' },
  { "cast_model_outputs", type = "rille.dtype", doc = "of what the model gives; f32 without" },
  { "num_losses", 1, type = "integer", min = 1, doc = "losses with a scaler of their own" },
  { "verbosity", 1, type = "integer", min = 0, doc = "0: nothing is printed" },
  { "min_loss_scale", type = "number", above = 0, doc = "the scale falls no further" },
  { "max_loss_scale", 2.0 ^ 24, above = 0, doc = "the scale grows no further" },
}

local function is_optimizer(value)
  return type(value) == "table" and rawget(value, "groups") ~= nil
end

local function models_of(models)
  local list = is_module(models) and { models } or models
  if type(list) ~= "table" then fail.type(op, "models", "a module or a list of modules", models) end
  for i, model in ipairs(list) do
    if not is_module(model) then fail.type(op, ("models[%d]"):format(i), "a module", model) end
  end
  return list
end

local function optimizers_of(optimizers)
  local list = is_optimizer(optimizers) and { optimizers } or optimizers or {}
  if type(list) ~= "table" then
    fail.type(op, "optimizers", "an optimizer or a list of optimizers", optimizers)
  end
  for i, optimizer in ipairs(list) do
    if not is_optimizer(optimizer) then
      fail.type(op, ("optimizers[%d]"):format(i), "an optimizer", optimizer)
    end
  end
  return list
end

-- The cast to f16 is this call's work: a model that was cast before has lost its digits.
local function check_f32(list)
  local facts, wrong, all = {}, 0, 0
  for _, model in ipairs(list) do
    for name, t in model:named_parameters() do
      all = all + 1
      if values.is_float(t) and t.dtype ~= "f32" then
        wrong = wrong + 1
        if wrong <= told then facts[wrong] = ("%-12s %s"):format(native.shown(name), t.dtype) end
      end
    end
  end
  if wrong == 0 then return end
  if wrong > told then facts[told + 1] = ("and %d more"):format(wrong - told) end
  fail.raise {
    kind = "dtype", code = "E_APEX_NOT_F32", op = op, facts = facts,
    message = ("%d of %d parameters are not f32"):format(wrong, all),
    hint = "amp.initialize casts the model: give it one in f32",
  }
end

-- Ends what an earlier call left switched on, in the coroutine that it was called in.
local function end_casts()
  registered.restore()
  local casts = state.casts
  state.casts = nil
  if casts and native.mode "autocast" == casts.inside then native.mode("autocast", casts.before) end
end

-- O1: from here on ops cast, as long as the script runs. There is no scope whose end would end it.
local function begin_casts(list)
  local device = list[1] and list[1].device or rille.default_device()
  local rules = registered.patch(lists())
  local inside = native.autocast_inside {
    device = device:match "^%a+", dtype = "f16", rules = rules,
  }
  state.casts = { inside = inside, before = native.mode "autocast" }
  native.mode("autocast", inside)
end

local function print_properties(properties)
  state:say("opt level %s", properties.opt_level)
  for _, name in ipairs(properties.shown) do
    state:say("  %-20s %s", name, tostring(properties[name]))
  end
end

local function make_scalers(p)
  local scalers = {}
  for i = 1, p.num_losses do
    scalers[i] = LossScaler.new(p.loss_scale, p.min_loss_scale, p.max_loss_scale)
  end
  return scalers
end

-- The models and optimizers, ready. One comes back as one, a list as a list; without optimizers
-- only the models come back.
--: models: rille.nn.Module|table, optimizers?: table, options?: table -> any, any
return function(models, optimizers, options)
  local no_list = type(optimizers) == "table" and #optimizers == 0 and next(optimizers) ~= nil
  if options == nil and no_list and not is_optimizer(optimizers) then
    optimizers, options = nil, optimizers               -- initialize(model, { opt_level = "O2" })
  end
  local properties = properties_of(read_options(op, options, known))
  local model_list, optimizer_list = models_of(models), optimizers_of(optimizers)
  if properties.enabled then check_f32(model_list) end
  end_casts()
  state.properties, state.scalers = properties, {}
  if properties.enabled then
    for _, model in ipairs(model_list) do cast_model(model, properties) end
    for _, optimizer in ipairs(optimizer_list) do stepping.prepare(optimizer, properties) end
    state.scalers = make_scalers(properties)
    print_properties(properties)
    if properties.patch_functions then begin_casts(model_list) end
  end
  if optimizers == nil then return models end
  return models, optimizers
end
