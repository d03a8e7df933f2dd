-- The names of rille.nn that are functions of other modules here.
local module = require "rille.nn.module"
local parameter = require "rille.parameter"
local utils = require "rille.nn.utils"

return {
  module = module.define,
  Module = module.Module,
  Parameter = parameter.new,
  clip_grad_norm_ = utils.clip_grad_norm_,
  clip_grad_value_ = utils.clip_grad_value_,
}
