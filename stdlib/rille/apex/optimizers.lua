-- rille.apex.optimizers: Apex's fused optimizers by name. Every optimizer here is fused, so they
-- are those of rille.optim with Apex's options and defaults.
local rille = require "rille"
local fail = require "rille.fail"
local read_only = require "rille.read_only"
local read_options = require "rille.options"

local optimizers = {}

local function only_default(op, options, names)
  for name, value in pairs(names) do
    if options[name] ~= value then
      fail.option(op, "'%s' can only be %s here", name, tostring(value))
    end
    options[name] = nil
  end
end

-- SGD with momentum in one sweep over all parameters: rille.optim.SGD.
--: params: rille.Tensor[] -> rille.optim.Optimizer
function optimizers.FusedSGD(params, options)
  local o = read_options("FusedSGD", options, {
    { "lr", 1e-3, doc = "learning rate" },
    { "momentum", 0.0, doc = "of the velocity that the gradient is added to" },
    { "dampening", 0.0, doc = "the part of the gradient that is not added" },
    { "weight_decay", 0.0, doc = "times the parameter, added to its gradient" },
    { "nesterov", false, doc = "looks one step of the momentum ahead" },
    { "wd_after_momentum", false, doc = "only false" },
    { "materialize_master_grads", true, doc = "only true" },
    { "set_grad_none", true, doc = "zero_grad takes gradients away" },
  })
  only_default("FusedSGD", o, { wd_after_momentum = false, materialize_master_grads = true })
  o.set_grad_none = nil
  return rille.optim.SGD(params, o)
end

-- Adam in one sweep over all parameters: rille.optim.AdamW, or with adam_w_mode = false
-- rille.optim.Adam.
--: params: rille.Tensor[] -> rille.optim.Optimizer
function optimizers.FusedAdam(params, options)
  local o = read_options("FusedAdam", options, {
    { "lr", 1e-3, doc = "learning rate" },
    { "bias_correction", true, doc = "only true" },
    { "betas", { 0.9, 0.999 }, doc = "of the averages of the gradient and of its square" },
    { "eps", 1e-8, doc = "added to the root of the second average" },
    { "adam_w_mode", true, doc = "weight decay stands apart from the gradient" },
    { "weight_decay", 0.0, doc = "times the parameter" },
    { "amsgrad", false, doc = "only false, as in Apex" },
    { "set_grad_none", true, doc = "zero_grad takes gradients away" },
  })
  only_default("FusedAdam", o, { bias_correction = true, amsgrad = false })
  local make = o.adam_w_mode and rille.optim.AdamW or rille.optim.Adam
  o.adam_w_mode, o.set_grad_none = nil, nil
  return make(params, o)
end

return read_only("rille.apex.optimizers", optimizers)
