-- nn.init: bounds and moments of each rule, from the formulas of their papers.
local t = require "support.test"
local rille = require "rille"
local init = rille.nn.init

local function moments(x)
  return x:mean():item(), x:std():item(), x:min():item(), x:max():item()
end

local function check_uniform(x, bound)
  local mean, _, low, high = moments(x)
  t.ok(low >= -bound and high <= bound)
  t.ok(high > 0.98 * bound and low < -0.98 * bound)
  t.ok(math.abs(mean) < 0.02 * bound)
end

local function check_normal(x, wanted)
  local mean, std = moments(x)
  t.ok(math.abs(mean) < 0.02 * wanted)
  t.ok(math.abs(std - wanted) < 0.02 * wanted)
end

t.test("uniform and normal rules", function()
  rille.seed(1)
  local x = rille.empty(200, 300)
  check_uniform(init.uniform_(x, -2, 2), 2)
  check_normal(init.normal_(x, 0, 0.3), 0.3)
  check_uniform(init.xavier_uniform_(x), (6 / 500) ^ 0.5)
  check_normal(init.xavier_normal_(x, 2), 2 * (2 / 500) ^ 0.5)
  check_uniform(init.kaiming_uniform_(x, { slope = 5 ^ 0.5 }), 300 ^ -0.5)
  check_normal(init.kaiming_normal_(x, { nonlinearity = "relu" }), (2 / 300) ^ 0.5)
  check_normal(init.kaiming_normal_(x, { mode = "fan_out" }), (2 / 200) ^ 0.5)
end)

t.test("fans of a convolution count the kernel", function()
  check_normal(init.kaiming_normal_(rille.empty(64, 32, 3, 3), { nonlinearity = "relu" }),
    (2 / (32 * 9)) ^ 0.5)
end)

t.test("trunc_normal_ stays within its bounds", function()
  rille.seed(2)
  local x = init.trunc_normal_(rille.empty(100000), 0, 1, -2, 2)
  local mean, std, low, high = moments(x)
  t.ok(low >= -2 and high <= 2)
  t.near(mean, 0, 0.01)
  t.near(std, 0.8796, 0.01)         -- of a normal cut at two deviations
end)

t.test("orthogonal_ gives orthonormal rows", function()
  local x = init.orthogonal_(rille.empty(4, 10))
  t.near(x:matmul(x:t()), rille.eye(4):tolist(), 1e-5)
  local tall = init.orthogonal_(rille.empty(10, 4), 2)
  t.near(tall:t():matmul(tall), (rille.eye(4) * 4):tolist(), 1e-5)
end)

t.test("constants, eye and dirac", function()
  t.eq(init.constant_(rille.empty(2), 3), { 3.0, 3.0 })
  t.eq(init.ones_(rille.empty(2)), { 1.0, 1.0 })
  t.eq(init.zeros_(rille.empty(2)), { 0.0, 0.0 })
  t.eq(init.eye_(rille.empty(2, 3)), { { 1.0, 0.0, 0.0 }, { 0.0, 1.0, 0.0 } })
  local x = rille.randn(1, 2, 5, 5)
  local w = init.dirac_(rille.empty(2, 2, 3, 3))
  t.near(rille.conv2d(x, w, { padding = 1 }), x:tolist(), 1e-6)
end)

t.test("parameters change outside of autograd", function()
  local p = rille.nn.Parameter(rille.zeros(3))
  init.ones_(p)
  t.ok(p.is_leaf and p.requires_grad)
  t.eq(p, { 1.0, 1.0, 1.0 })
end)
