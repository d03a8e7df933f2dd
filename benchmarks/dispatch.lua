-- W2: what an op costs beyond its arithmetic.
local rille = require "rille"
local measure = require "measure"

local kCalls = 2000

local function case(name, call)
  measure.case(name, function()
    for _ = 1, kCalls do call() end
  end, kCalls)
end

local u, v = rille.ones(1), rille.ones(1)
local ug = rille.ones(1, { requires_grad = true })
local vg = rille.ones(1, { requires_grad = true })
local m, n = rille.randn(64, 64), rille.randn(64, 64)

rille.no_grad(function()
  case("add", function() return u + v end)
end)
case("add_graph", function() return ug + vg end)
rille.no_grad(function()
  case("view", function() return m:view(4096) end)
  case("slice", function() return m[{ { 4, 7 } }] end)
  case("item", function() return u:item() end)
  case("matmul64", function() return m:matmul(n) end)
end)
