-- Work on lists of parameters: clipping gradients, and parameters as one vector.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local fail = require "rille.fail"
local read_only = require "rille.read_only"
local scope = require "rille.scope".scope
local read_options = require "rille.options"
local list_of = require "rille.nn.parameter_list"
local settings = require "rille.settings"
local warn_once = require "rille.warn_once"
local refuse_clipping = require "rille.optim.fused_params".refuse_clipping

local utils = {}

local clip_options = {
  { "p", 2, min = 0, doc = "of the norm" },
  { "error_if_nonfinite", false, doc = "an error where the norm is not finite" },
  { "compat", type = '"torch"', doc = "scales by a norm that is not finite, too" },
}
local bound = { type = "number", min = 0 }

-- Scales all gradients by min(1, max / (norm + 1e-6)) and returns the norm of before, a tensor. A
-- norm that is not finite leaves the gradients as they are. Those of a scaled loss have to be
-- unscaled before: a warning tells of ones that are not, after rille.strict(true) an error.
--: params: rille.Tensor|rille.Tensor[], max: number -> rille.Tensor
function utils.clip_grad_norm_(params, max, options)
  options = read_options("clip_grad_norm_", options, clip_options)
  check("clip_grad_norm_", "max", max, bound)
  params = list_of("clip_grad_norm_", params)
  refuse_clipping("clip_grad_norm_", params)
  local norm, warning = native.clip_norm(params, max, options.p, options.compat == "torch",
    settings.is_strict())
  warn_once(warning)
  if options.error_if_nonfinite and not norm:isfinite():item() then
    fail.state("clip_grad_norm_", "the norm of the gradients is %s", tostring(norm:item()))
  end
  return norm
end

local function clamp_all(params, max)
  local _ <close> = rille.no_grad()
  local _ <close> = scope() -- what looks at a gradient holds its memory, zero_grad or not
  local grads, warning = native.gradients_to_clip(params, settings.is_strict())
  warn_once(warning)
  for _, grad in ipairs(grads) do grad:clamp_(-max, max) end
end

-- Clamps all gradients to -max .. max.
--: params: rille.Tensor|rille.Tensor[], max: number
function utils.clip_grad_value_(params, max)
  check("clip_grad_value_", "max", max, bound)
  params = list_of("clip_grad_value_", params)
  refuse_clipping("clip_grad_value_", params)
  native.unit(clamp_all, params, max)
end

-- All values in one row.
--: params: rille.Tensor[] -> rille.Tensor
function utils.parameters_to_vector(params)
  local flat = {}
  for i, t in ipairs(list_of("parameters_to_vector", params)) do flat[i] = t:flatten() end
  return rille.cat(flat, 1)
end

local function spread(vector, params)
  local _ <close> = rille.no_grad()
  local first = 1
  for _, t in ipairs(params) do
    t:copy_(vector:narrow(1, first, t:numel()):reshape(t:shape()))
    first = first + t:numel()
  end
end

-- Such a row back into the parameters.
--: vector: rille.Tensor, params: rille.Tensor[]
function utils.vector_to_parameters(vector, params)
  local op, wanted = "vector_to_parameters", 0
  if not native.is_tensor(vector) then fail.type(op, "vector", "a tensor", vector) end
  params = list_of(op, params)
  for _, t in ipairs(params) do wanted = wanted + t:numel() end
  if vector:dim() ~= 1 or vector:numel() ~= wanted then
    fail.raise {
      kind = "shape", code = "E_SHAPE", op = op,
      message = ("needs a vector of %d values, got [%s]"):format(
        wanted, table.concat(vector:shape(), ", ")),
    }
  end
  native.unit(spread, vector, params)
end

local reparametrize = require "rille.nn.reparametrize"
utils.weight_norm, utils.spectral_norm = reparametrize.weight_norm, reparametrize.spectral_norm
utils.fuse_conv_bn = require "rille.nn.fuse"

return read_only("rille.nn.utils", utils)
