-- W7, element by element: ops over 16M numbers, which memory bounds.
local rille = require "rille"
local measure = require "measure"

local kCount = 16 * 1024 * 1024
local x, y, out = rille.randn(kCount), rille.randn(kCount), rille.empty(kCount)
local square = x:view(4096, 4096)

rille.no_grad(function()
  measure.case("add", function() return x + y end)
  measure.case("exp", function() return x:exp() end)
  measure.case("gelu_tanh", function() return rille.gelu(x, { approximate = "tanh" }) end)
  measure.case("gelu_erf", function() return rille.gelu(x) end)
  measure.case("sum", function() return x:sum() end)
  measure.case("copy", function() out:copy_(x) end)
  measure.case("add_into", function() out:add_(y) end)
  measure.case("dropout", function() return rille.dropout(x, 0.1) end)
  measure.case("transposed_copy", function() return square:t():contiguous() end)
end)
