-- Numbers at the edges: gradients that leave no range in between, ties, limits and large logits.
local rille = require "rille"
local t = require "support.test"

local inf, nan = math.huge, 0 / 0

local function leaf(values, dtype)
  return rille.tensor(values, { dtype = dtype or "f64", requires_grad = true })
end

-- The gradients of the sum of f's result.
local function grads(f, ...)
  local leaves = { ... }
  f(...):sum():backward()
  local out = {}
  for i, x in ipairs(leaves) do out[i] = x.grad end
  return table.unpack(out)
end

local function quotient_slope(x, y, dy, dtype)
  local a, b = leaf({ x }, dtype), leaf({ y }, dtype)
  rille.div(a, b):backward(rille.tensor({ dy }, { dtype = dtype }))
  return b.grad:item()
end

-- Want: -dy * x / y^2 in exact arithmetic.
t.test("the divisor's gradient does not leave the range in between", function()
  t.near(quotient_slope(300.0, 300.0, 1.0, "f16"), -1 / 300, 1e-3)
  t.near(quotient_slope(1e-4, 1e-4, 1.0, "f16") / 1e4, -1, 1e-3)
  t.near(quotient_slope(10.0, 100.0, 1e4, "f16"), -10, 1e-3)
  for _, dtype in ipairs { "f32", "bf16" } do
    t.near(quotient_slope(1e-23, 1e-23, 1.0, dtype) / 1e23, -1, 1e-2)
    t.near(quotient_slope(1e30, 1e30, 1.0, dtype) * 1e30, -1, 1e-2)
    t.near(quotient_slope(1e-30, 1e-25, 1e-10, dtype) * 1e-10, -1, 1e-2)
  end
end)

t.test("gradients of reciprocals and powers at the edges", function()
  local x = leaf({ 300.0 }, "f16"); (1 / x):backward(rille.tensor({ 1.0 }, { dtype = "f16" }))
  t.near(x.grad:item() * 300 ^ 2, -1, 1e-2)
  local y = leaf({ 1e-25 }, "f32")
  y:reciprocal():backward(rille.tensor { 1e-20 })
  t.near(y.grad:item() / 1e30, -1, 1e-5)
  local z = leaf({ 300.0 }, "f16")
  z:pow(-2):backward(rille.tensor({ 1e4 }, { dtype = "f16" }))
  t.near(z.grad:item() * 300 ^ 3 / -2e4, 1, 2e-3)
end)

t.test("second derivatives of quotients, angles, powers and ties", function()
  local x = rille.tensor({ 0.5, -1.5, 2.0 }, { dtype = "f64", requires_grad = true })
  local y = rille.tensor({ 1.25, 0.75, -3.0 }, { dtype = "f64", requires_grad = true })
  for _, f in ipairs { rille.div, rille.atan2, rille.hypot, rille.logaddexp, rille.maximum } do
    t.ok(rille.debugging.gradgradcheck(f, { x, y }))
  end
end)

-- PyTorch 2.15: torch.clamp(x, 0, 1), torch.clamp(x, lo, hi), torch.maximum and so on of f64
-- tensors, .sum().backward(), .grad.
t.test("ties share gradients as PyTorch has it", function()
  t.eq(grads(function(x) return x:clamp(0, 1) end, leaf { -1, 0, 0.5, 1, 2, nan }),
    rille.tensor({ 0, 0, 1, 0, 0, 0 }, { dtype = "f64" }))
  local dx, dlo, dhi = grads(function(x, lo, hi) return x:clamp(lo, hi) end,
    leaf { -1, 0, 0.5, 1, 2, 1, 3, 2, 1 }, leaf { 0, 0, 0, 0, 0, 1, 2, 2, 1 },
    leaf { 1, 1, 1, 1, 1, 1, 1, 1, 3 })
  t.eq(dx, rille.tensor({ 0, 0.5, 1, 0.5, 0, 1, 0, 0, 0.5 }, { dtype = "f64" }))
  t.eq(dlo, rille.tensor({ 1, 0.5, 0, 0, 0, 0, 0, 0, 0.5 }, { dtype = "f64" }))
  t.eq(dhi, rille.tensor({ 0, 0, 0, 0.5, 1, 0, 1, 1, 0 }, { dtype = "f64" }))
  local wants = {
    maximum = { { 0, 0.5, 1, 1, 1, 0.5 }, { 1, 0.5, 0, 1, 1, 0.5 } },
    minimum = { { 1, 0.5, 0, 1, 1, 0.5 }, { 0, 0.5, 1, 1, 1, 0.5 } },
    fmax = { { 0, 0.5, 1, 0, 1, 0.5 }, { 1, 0.5, 0, 1, 0, 0.5 } },
    fmin = { { 1, 0.5, 0, 0, 1, 0.5 }, { 0, 0.5, 1, 1, 0, 0.5 } },
  }
  for name, want in pairs(wants) do
    local da, db = grads(rille[name], leaf { 0, 1, 2, nan, 1, inf }, leaf { 1, 1, 1, 1, nan, inf })
    t.eq(da, rille.tensor(want[1], { dtype = "f64" }), name)
    t.eq(db, rille.tensor(want[2], { dtype = "f64" }), name)
  end
  t.eq(grads(function(x) return x:amax() end, leaf { 1, 1, 0, 0 }),
    rille.tensor({ 0.5, 0.5, 0, 0 }, { dtype = "f64" }))
end)

t.test("losses at their kinks as PyTorch has it", function()
  local sum = { reduction = "sum" }
  local function sums(f) return function(x, y) return f(x, y, sum) end end
  t.eq(grads(sums(rille.smooth_l1_loss), leaf { 1, -1, 0, 2 }, leaf { 0, 0, 0, 0 }),
    rille.tensor({ 1, -1, 0, 1 }, { dtype = "f64" }))
  t.eq(grads(sums(rille.huber_loss), leaf { 1, -1, 0, 2 }, leaf { 0, 0, 0, 0 }),
    rille.tensor({ 1, -1, 0, 1 }, { dtype = "f64" }))
  local signs = rille.tensor { 1, -1, -1, -1 }
  t.eq(grads(function(x) return rille.hinge_embedding_loss(x, signs, sum) end, leaf { 1, 1, 0, 2 }),
    rille.tensor({ 1, 0, -1, 0 }, { dtype = "f64" }))
  local target = rille.tensor({ 0 }, { dtype = "i64" })
  t.near(grads(function(x) return rille.multi_margin_loss(x:view(1, 3), target) end,
    leaf { 1, 0, 1 }), { -1 / 3, 0, 1 / 3 }, 1e-15)
  for name, want in pairs { relu = 0, abs = 0, rrelu = (1 / 8 + 1 / 3) / 2, elu = 1 } do
    t.near(grads(rille[name], leaf { 0.0 }), { want }, 1e-12)
  end
end)

t.test("cross_entropy's gradient of large logits", function()
  local target = rille.tensor({ 0 }, { dtype = "i64" })
  for _, large in ipairs { 1e5, 1e8, 3e38 } do
    local x = leaf({ { large, large, large, large } }, "f32")
    rille.cross_entropy(x, target):backward()
    t.near(x.grad, { { -0.75, 0.25, 0.25, 0.25 } }, 1e-6)
  end
end)

-- Sums over k >= i of 1 / k, as each of k equal elements has that share.
t.test("logsumexp and logcumsumexp of large and of infinite elements", function()
  t.near(grads(function(x) return x:logcumsumexp(1) end, leaf { 3e38, 3e38, 3e38 }),
    { 11 / 6, 5 / 6, 1 / 3 }, 1e-12)
  t.near(grads(function(x) return x:logsumexp(1) end, leaf({ 1e8, 1e8, 1e8, 1e8 }, "f32")),
    { 0.25, 0.25, 0.25, 0.25 }, 1e-6)
  for _, dtype in ipairs { "f32", "f64", "bf16", "f16" } do
    t.eq(rille.tensor({ 0, 1, inf }, { dtype = dtype }):logsumexp(1):item(), inf)
    t.eq(rille.tensor({ -inf, -inf }, { dtype = dtype }):logsumexp(1):item(), -inf)
  end
  t.eq(rille.tensor { { inf, 1 }, { 0, 2 } }:logsumexp(1)[1]:item(), inf)
end)

t.test("means and deviations near the ends of the range", function()
  t.near(rille.tensor { 3e38, 3e38, 3e38, 3e38 }:mean():item() / 3e38, 1, 1e-6)
  t.eq(rille.tensor { 3e38, 3e38, 3e38, 3e38 }:std():item(), 0)
  for _, scale in ipairs { 1e-25, 1e20 } do
    local x = leaf({ scale, 2 * scale, 3 * scale }, "f32")
    local y = x:std()
    t.near(y:item() / scale, 1, 1e-6)
    y:backward()
    t.near(x.grad, { -0.5, 0, 0.5 }, 1e-6)
  end
end)

t.test("floor_divide agrees with remainder", function()
  local one = rille.tensor { 1.0 }
  t.eq(rille.floor_divide(one, rille.tensor { 0.1 }):item(), 9)
  t.eq(rille.floor_divide(one, -inf):item(), -1)
  t.eq(rille.floor_divide(rille.tensor { -1e-40 }, 1e10):item(), -1)
  t.eq(rille.floor_divide(one, 0):item(), inf)
  t.eq(rille.div(one, rille.tensor { 0.1 }, { rounding = "trunc" }):item(), 9)
  rille.seed(3)
  local x, y = rille.randn(1000) * 100, rille.randn(1000)
  local rest = x:to "f64" - rille.floor_divide(x, y):to "f64" * y:to "f64"
  t.near(rest, x:to "f64":remainder(y:to "f64"), 1e-5)
end)

-- Values by mpmath 1.3 with 50 digits where they are not exact.
t.test("single values at the edges", function()
  t.eq(rille.hypot(rille.tensor { -inf }, rille.tensor { nan }):item(), inf)
  local near = rille.tensor({ -1e-10 }, { dtype = "f64" })
  t.near(rille.digamma(near):item(), 9999999999.422785, 1e-15)
  t.near(rille.digamma(rille.tensor({ -1e-30 }, { dtype = "f64" })):item() / 1e30, 1, 1e-15)
  t.near(rille.mish(rille.tensor { 1e22 }):item() / 1e22, 1, 1e-6)
  t.near(grads(rille.mish, leaf({ 1e16, 25.0 }, "f32")), { 1, 1 }, 1e-6)
  t.eq(rille.softplus(rille.tensor { -2.0 }, { threshold = -100 }):item(), -2)
  for _, f in ipairs { rille.clamp_min, rille.clamp_max } do
    local y = f(rille.tensor { 1.0 }, rille.tensor { nan }):item()
    t.ok(y ~= y)
  end
  local dx, dy = grads(rille.atan2, leaf { 0.0 }, leaf { 0.0 })
  t.eq({ dx:item(), dy:item() }, { 0, 0 })
  local _, small = grads(rille.logaddexp, leaf { 0.0 }, leaf { -40.0 })
  t.near(small:item() / 4.248354255291589e-18, 1, 1e-14)
end)

t.test("whole numbers beyond 2^53 are printed as they are", function()
  local x = rille.tensor({ 9007199254740993, math.maxinteger }, { dtype = "i64" })
  t.ok(tostring(x):find("9007199254740993", 1, true))
  t.ok(tostring(x):find("9223372036854775807", 1, true))
end)
