-- W13: causal attention, forward and backward, 8 x 6 heads of width 64.
local rille = require "rille"
local measure = require "measure"

for _, time in ipairs { 256, 1024 } do
  local q, k, v = rille.randn(8, 6, time, 64, { requires_grad = true }),
    rille.randn(8, 6, time, 64, { requires_grad = true }),
    rille.randn(8, 6, time, 64, { requires_grad = true })
  local dy = rille.randn(8, 6, time, 64)
  measure.case("time" .. time, function()
    rille.scaled_dot_product_attention(q, k, v, { causal = true }):backward(dy)
    q.grad, k.grad, v.grad = nil, nil, nil
  end)
end
