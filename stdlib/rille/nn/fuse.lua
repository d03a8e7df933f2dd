-- nn.utils.fuse_conv_bn(conv, bn): one convolution that does what both do in eval mode.
local rille = require "rille"
local fail = require "rille.fail"
local is_module = require "rille.nn.module".is_module
local native = require "rille.native"
local parameter = require "rille.parameter"

local function check(conv, bn)
  for name, part in pairs { conv = conv or false, bn = bn or false } do
    if not is_module(part) then fail.type("fuse_conv_bn", name, "a module", part or nil) end
  end
  if not native.is_tensor(conv.weight) then
    fail.argument("fuse_conv_bn", "'conv' has no weight")
  end
end

return function(conv, bn)
  check(conv, bn)
  if conv.training or bn.training then
    fail.state("fuse_conv_bn", "both must be in eval mode")
  elseif not bn.running_mean then
    fail.state("fuse_conv_bn", "the batch norm keeps no running statistics")
  end
  local _ <close> = rille.no_grad()
  local w = conv.weight
  local scale = (bn.running_var + (bn.eps or 1e-5)):rsqrt()
  if bn.weight then scale = scale * bn.weight end
  local bias = conv.bias or rille.zeros(#w, { dtype = w.dtype, device = w.device })
  bias = (bias - bn.running_mean) * scale
  if bn.bias then bias = bias + bn.bias end
  local shape = { -1 }
  for d = 2, w:dim() do shape[d] = 1 end
  conv.weight = parameter.new(w * scale:view(shape))
  conv.bias = parameter.new(bias)
  return conv
end
