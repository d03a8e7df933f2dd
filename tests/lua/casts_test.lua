-- t:to with rules: codes of the formats by hand, the draws by Philox's published vectors.
local t = require "support.test"
local rille = require "rille"

local inf, nan = math.huge, 0 / 0

-- The value of a binary16 code: 1 bit of sign, 5 of exponent (bias 15), 10 of fraction.
local function f16(code)
  local sign = code & 0x8000 ~= 0 and -1 or 1
  local exponent, fraction = code >> 10 & 31, code & 1023
  if exponent == 31 then return fraction == 0 and sign * inf or nan end
  if exponent == 0 then return sign * fraction * 2.0 ^ -24 end
  return sign * (1 + fraction / 1024) * 2.0 ^ (exponent - 15)
end

-- A bf16 code is the upper half of an f32.
local function bf16(code) return (string.unpack("<f", string.pack("<I4", code << 16))) end

local function check(dtype, source, options, cases)
  local decode = dtype == "f16" and f16 or bf16
  for _, case in ipairs(cases) do
    local x = rille.tensor({ case[1] }, { dtype = source })
    local got = x:to(dtype, options)
    t.eq(got.dtype, dtype)
    t.eq(got:item(), decode(case[2]), ("%s of %.17g"):format(dtype, case[1]))
  end
end

t.test("rounding is to nearest even, beyond the range lies inf", function()
  for _, source in ipairs { "f32", "f64" } do
    for _, options in ipairs { {}, { nan = "propagate", saturate = false }, { nan = "error" } } do
      check("f16", source, options, {
        { 1 + 2 ^ -11, 0x3C00 }, { 1 + 3 * 2 ^ -11, 0x3C02 }, { 2 ^ -25, 0 },
        { 1.0001 * 2 ^ -25, 0x0001 }, { 65519, 0x7BFF }, { 65520, 0x7C00 }, { -65520, 0xFC00 },
        { inf, 0x7C00 },
      })
      check("bf16", source, options, {
        { 1 + 2 ^ -8, 0x3F80 }, { 1 + 3 * 2 ^ -8, 0x3F82 }, { 4.5e-41, 0 },
        { -inf, 0xFF80 },
      })
    end
  end
  check("bf16", "f64", { nan = "error" }, {
    { 3.3961775292304e38, 0x7F7F }, { 3.39617752923047e38, 0x7F80 },
  })
end)

t.test("saturate keeps to the largest finite value, inf too", function()
  for _, source in ipairs { "f32", "f64" } do
    check("f16", source, { saturate = true }, {
      { 65504, 0x7BFF }, { 65520, 0x7BFF }, { 1e30, 0x7BFF }, { inf, 0x7BFF }, { -inf, 0xFBFF },
      { -1e5, 0xFBFF }, { 1 + 2 ^ -11, 0x3C00 }, { 2 ^ -24, 0x0001 }, { nan, 0x7E00 },
    })
    check("bf16", source, { saturate = true }, {
      { 3.4e38, 0x7F7F }, { inf, 0x7F7F }, { -inf, 0xFF7F }, { nan, 0x7FC0 },
    })
  end
  check("f16", "i64", { saturate = true }, { { 100000, 0x7BFF }, { -100000, 0xFBFF } })
  t.eq(rille.tensor({ 1e300, -inf }, { dtype = "f64" }):to("f32", { saturate = true }):tolist(),
    { 3.4028234663852886e38, -3.4028234663852886e38 })
  t.eq(rille.tensor({ inf }, { dtype = "f16" }):to("f16", { saturate = true }):item(), 65504)
  t.eq(1 / rille.tensor({ -0.0 }):to("f16", { saturate = true }):item(), -inf)
end)

t.test("floats become integers by truncation and saturate, integers wrap unless told", function()
  local x = rille.tensor { 2.9, -2.9, 300, -300, inf, -inf, nan }
  for _, options in ipairs { {}, { saturate = true }, { nan = "zero" } } do
    t.eq(x:to("i8", options):tolist(), { 2, -2, 127, -128, 127, -128, 0 })
  end
  local n = rille.tensor({ 300, -1, 100 }, { dtype = "i64" })
  t.eq(n:to("u8"):tolist(), { 44, 255, 100 })
  t.eq(n:to("u8", { saturate = false }):tolist(), { 44, 255, 100 })
  t.eq(n:to("u8", { saturate = true }):tolist(), { 255, 0, 100 })
  t.eq(n:to("bool", { saturate = true }):tolist(), { true, true, true })
  t.error_like(function() x:to("i8", { saturate = false }) end,
    { code = "E_OPTION", message = "floats always saturate in i8: 'saturate' can't be false" })
end)

t.test("nan is kept, zero or an error that names its place", function()
  local x = rille.tensor { { 1, 2 }, { nan, 4 } }
  t.eq(x:to("bf16", { nan = "propagate" }):tolist(), { { 1, 2 }, { nan, 4 } })
  t.eq(x:to("bf16", { nan = "zero" }):tolist(), { { 1, 2 }, { 0, 4 } })
  t.eq(x:to("bool", { nan = "zero" }):tolist(), { { true, true }, { false, true } })
  for _, dtype in ipairs { "bf16", "f16", "f32", "i32" } do
    t.error_like(function() x:to(dtype, { nan = "error" }) end,
      { code = "E_NAN_UNREPRESENTABLE", message = "nan at {2, 1}, and becomes " .. dtype })
  end
  t.error_like(function() x:t():to("f16", { nan = "error" }) end, "nan at {1, 2}")
  local long = rille.zeros(5000)
  long[4097] = nan
  t.error_like(function() long:to("f16", { nan = "error", rounding = "stochastic" }) end,
    "nan at {4097}")
end)

t.test("the mean of a million stochastic casts is the value", function()
  local x = 1 + 2 ^ -9
  local g = rille.generator(3)
  local options = { rounding = "stochastic", generator = g }
  local y = rille.full({ 1000, 1000 }, x):to("bf16", options)
  t.ok(math.abs(y:to("f64"):mean():item() - x) < 1e-4)
  t.eq(y:eq(1):logical_or(y:eq(1 + 2 ^ -7)):all(), true)
  local tiny = rille.full({ 100000 }, 2 ^ -26):to("f16", options) -- a quarter of the least
  t.near(tiny:to("f64"):mean():item() * 2 ^ 24, 0.25, 0.01)
  local near_end = rille.full({ 1000 }, -65520):to("f16", options)
  t.eq(near_end:eq(-65504):logical_or(near_end:eq(-inf)):all(), true)
  options.saturate = true
  t.eq(rille.full({ 1000 }, -65520):to("f16", options):eq(-65504):all(), true)
end)

-- The first block of Philox4x32-10 under key 0 and counter 0 is 6627e8d5 e169c58d bc57ac4c 9b00dbd8
-- (Random123's known answers): 0.399, 0.881, 0.736 and 0.606 of 2^32.
t.test("a draw decides: up where the fraction is above it", function()
  local options = { rounding = "stochastic", generator = rille.generator(0) }
  local step = 2 ^ -7
  local x = rille.tensor { 1 + 0.5 * step, 1 + 0.875 * step, 1 + 0.75 * step, -1 - 0.75 * step }
  t.eq(x:to("bf16", options):tolist(), { 1 + step, 1, 1 + step, -1 - step })
  options.generator = rille.generator(0)
  step = 2 ^ -10
  x = rille.tensor({ 1 + 0.375 * step, 1 + 0.9 * step, 1 + 0.7 * step, -1 - 0.5 * step },
    { dtype = "f64" })
  t.eq(x:to("f16", options):tolist(), { 1, 1 + step, 1, -1 })
end)

t.test("what the format holds stays, whatever is drawn", function()
  local g = { rounding = "stochastic", generator = rille.generator(1) }
  for _, dtype in ipairs { "f16", "bf16", "f32", "f64" } do
    local values = { 0, -0.0, 1, -1.5, 2 ^ -14, -(2.0 ^ -24), 1.9921875, inf, -inf, nan, 256 }
    for _ = 1, 20 do
      local x = rille.tensor(values, { dtype = "f64" }):to(dtype, g)
      t.eq(x:tolist(), values)
      t.eq(1 / x[2]:item(), -inf)
    end
  end
end)

t.test("the same numbers whatever the threads, and the layout", function()
  local x = rille.randn(300, 301)
  local function drawn(source)
    return source:to("bf16", { rounding = "stochastic", generator = rille.generator(9) })
  end
  local before = rille.threads()
  rille.threads(1)
  local alone = drawn(x)
  rille.threads(3)
  local shared = drawn(x)
  rille.threads(before)
  t.eq(alone:eq(shared):all(), true)
  t.eq(drawn(x:t():contiguous():t()):eq(alone):all(), true)
  rille.seed(5)
  local first = x:to("f16", { rounding = "stochastic" })
  local second = x:to("f16", { rounding = "stochastic" })
  rille.seed(5)
  t.eq(x:to("f16", { rounding = "stochastic" }):eq(first):all(), true)
  t.eq(first:eq(second):all(), false)
end)

t.test("gradients go through", function()
  for _, options in ipairs { { saturate = true }, { rounding = "stochastic" }, { nan = "zero" } } do
    local x = rille.tensor({ 0.1, -7 }, { requires_grad = true })
    local y = x:to("bf16", options) * rille.tensor({ 2, 3 }, { dtype = "bf16" })
    y:sum():backward()
    t.eq(x.grad:tolist(), { 2, 3 })
    t.eq(x.grad.dtype, "f32")
  end
end)

t.test("layout, copy and async", function()
  local x = rille.ones(2, 3):t()
  t.eq(x:to("f32").layout, "dense")
  t.eq(x:to("f32", { layout = "contiguous" }).layout, "contiguous")
  t.ok(x:to("f32", { async = true }) == x)
  t.ok(x:to("f32", { copy = true }) ~= x)
end)

t.test("other values are refused", function()
  local x = rille.ones(2)
  local cases = {
    { { saturate = 1 }, "E_TYPE", "saturate" },
    { { async = "yes" }, "E_TYPE", "async" },
    { { nan = "maybe" }, "E_ARG", "must be one of 'propagate', 'error', 'zero', got 'maybe'" },
    { { rounding = "up" }, "E_ARG", "'rounding' must be one of 'nearest', 'stochastic', got 'up'" },
    { { layout = "channels_last" }, "E_ARG", "'layout' must be one of 'contiguous'" },
    { { rounding = "stochastic", generator = 5 }, "E_TYPE", "'generator' must be a generator" },
    { { generator = rille.generator(1) }, "E_OPTION", "'generator' goes with rounding" },
    { { saturated = true }, "E_OPTION", "did you mean 'saturate'?" },
  }
  for _, case in ipairs(cases) do
    t.error_like(function() x:to("f16", case[1]) end, { code = case[2], message = case[3] })
  end
  t.error_like(function() x:to("i32", { rounding = "stochastic" }) end,
    { code = "E_DTYPE", message = "stochastic rounding is for float dtypes, got i32" })
end)
