-- W7, row by row: softmax, layer_norm and cross_entropy, forward and with their gradients ("both");
-- cross_entropy in bf16 too.
local rille = require "rille"
local measure = require "measure"

local x = rille.randn(16384, 1024, { requires_grad = true })
local w = rille.ones(1024, { requires_grad = true })
local b = rille.zeros(1024, { requires_grad = true })
local dy = rille.randn(16384, 1024)

local function both(name, forward)
  measure.case(name, function()
    forward():backward(dy)
    x.grad, w.grad, b.grad = nil, nil, nil
  end)
end

local function softmax() return rille.softmax(x, -1) end
local function layer_norm() return rille.layer_norm(x, w, b) end

rille.no_grad(function()
  measure.case("softmax", softmax)
  measure.case("layer_norm", layer_norm)
end)
both("softmax_both", softmax)
both("layer_norm_both", layer_norm)

local target = rille.randint(0, 50256, 2048)

local function cross_entropy(name, dtype)
  local logits = rille.randn(2048, 50257, { dtype = dtype, requires_grad = true })
  measure.case(name, function()
    rille.cross_entropy(logits, target):backward()
    logits.grad = nil
  end)
end

cross_entropy("cross_entropy_both", "f32")
cross_entropy("cross_entropy_bf16", "bf16")
