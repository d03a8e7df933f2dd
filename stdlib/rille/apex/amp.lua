-- rille.apex.amp, whose names are in rille.amp, too.
local initialize = require "rille.apex.initialize"
local optimizers = require "rille.apex.stepping"
local registered = require "rille.apex.registered"
local saved = require "rille.apex.saved"

return {
  initialize = initialize,
  scale_loss = require "rille.apex.scale_loss",
  master_params = optimizers.master_params,
  state_dict = saved.state_dict,
  load_state_dict = saved.load_state_dict,
  register_half_function = registered.register_half_function,
  register_float_function = registered.register_float_function,
  register_promote_function = registered.register_promote_function,
}
