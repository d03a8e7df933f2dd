-- W13: causal attention, forward and backward, 8 x 6 heads of width 64; in f32 and bf16.
local rille = require "rille"
local measure = require "measure"

local function case(name, time, dtype)
  local function operand(graph)
    return rille.randn(8, 6, time, 64, { dtype = dtype, requires_grad = graph })
  end
  local q, k, v, dy = operand(true), operand(true), operand(true), operand(false)
  measure.case(name, function()
    rille.scaled_dot_product_attention(q, k, v, { causal = true }):backward(dy)
    q.grad, k.grad, v.grad = nil, nil, nil
  end)
end

for _, time in ipairs { 256, 1024 } do case("time" .. time, time, "f32") end
for _, time in ipairs { 256, 1024 } do case("time" .. time .. "_bf16", time, "bf16") end
