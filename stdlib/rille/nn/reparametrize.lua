-- nn.utils.weight_norm and spectral_norm: a layer's weight computed from other parameters before
-- each call.
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"
local is_module = require "rille.nn.module".is_module
local parameter = require "rille.parameter"
local read_options = require "rille.options"
require "rille.nn.hooks"

local reparametrize = {}

-- The weight of that name.
local function weight_of(op, module, name)
  if not is_module(module) then fail.type(op, "module", "a module", module) end
  local w = module[name]
  if not native.is_tensor(w) then fail.argument(op, "the module has no weight '%s'", name) end
  return w
end

-- Norm over all dims but `dim`, kept as dims of size 1; over everything for dim 0.
local function norm_except(v, dim)
  if dim == 0 then return v:norm() end
  local dims = {}
  for d = 1, v:dim() do
    if d ~= dim then dims[#dims + 1] = d end
  end
  return v:square():sum(dims, { keepdim = true }):sqrt()
end

-- weight = g v / |v|: `weight_g` and `weight_v` take the place of the parameter. dim 0 is one norm
-- for all.
function reparametrize.weight_norm(module, options)
  local o = read_options("weight_norm", options,
    { { "name", "weight" }, { "dim", 1, type = "integer", min = 0 } })
  local w = weight_of("weight_norm", module, o.name)
  module[o.name] = nil
  module[o.name .. "_g"] = parameter.new(norm_except(w:detach(), o.dim))
  module[o.name .. "_v"] = parameter.new(w:detach())
  local function compute(self)
    local g, v = self[o.name .. "_g"], self[o.name .. "_v"]
    self[o.name] = v * (g / norm_except(v, o.dim))
  end
  module:register_forward_pre_hook(compute)
  compute(module)
  return module
end

local function normed(v, eps)
  return v / v:norm():clamp(eps, nil)
end

-- weight = w / its largest singular value, estimated by `iterations` steps of the power method a
-- call.
function reparametrize.spectral_norm(module, options)
  local o = read_options("spectral_norm", options,
    { { "name", "weight" }, { "iterations", 1, type = "integer", min = 0 },
      { "eps", 1e-12, min = 0 }, { "dim", 1, type = "integer", min = 1 } })
  local w = weight_of("spectral_norm", module, o.name)
  local function matrix(t)
    local first = o.dim == 1 and t or t:transpose(1, o.dim)
    return first:reshape(first:size(1), -1)
  end
  module[o.name] = nil
  module[o.name .. "_orig"] = w
  local m = matrix(w:detach())
  module:buffer(o.name .. "_u", normed(rille.randn(m:size(1), { dtype = w.dtype }), o.eps))
  module:buffer(o.name .. "_v", normed(rille.randn(m:size(2), { dtype = w.dtype }), o.eps))
  local function compute(self, iterations)
    local original, u, v = self[o.name .. "_orig"], self[o.name .. "_u"], self[o.name .. "_v"]
    local flat = matrix(original)
    native.unit(rille.no_grad, function()
      for _ = 1, iterations do
        v:copy_(normed(flat:t():mv(u), o.eps))
        u:copy_(normed(flat:mv(v), o.eps))
      end
    end)
    local sigma = u:clone():dot(flat:mv(v:clone()))
    self[o.name] = original / sigma
  end
  module:register_forward_pre_hook(function(self)
    compute(self, self.training and o.iterations or 0)
  end)
  compute(module, 15)
  return module
end

return reparametrize
