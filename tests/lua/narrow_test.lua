-- Floats of eight bits and fewer as scripts see them. Values are the formats' own (OCP Microscaling
-- Formats 1.0, section 5.3; torch.finfo); every code and a million casts are in tests/unit/core.
local t = require "support.test"
local rille = require "rille"

local inf, nan = math.huge, 0 / 0
local all = {
  "f8_e4m3", "f8_e5m2", "f8_e8m0", "f8_e4m3fnuz", "f8_e5m2fnuz", "f6_e3m2", "f6_e2m3", "f4_e2m1",
}
local packed = { "f6_e3m2", "f6_e2m3", "f4_e2m1" }
-- Powers of two that every format has.
local values = { 1, 2, 4, 1, 2, 2, 4, 4, 1, 2, 4, 2, 1, 1, 4, 4, 2, 1, 1, 2, 4, 2, 2, 1 }

t.test("finfo says what the format's definition says", function()
  local want = {
    f8_e4m3 = { 8, 4, 3, 7, 448, -448, 0.125, 2 ^ -6, 2 ^ -9, false, true, true, true },
    f8_e5m2 = { 8, 5, 2, 15, 57344, -57344, 0.25, 2 ^ -14, 2 ^ -16, true, true, true, true },
    f8_e8m0 = { 8, 8, 0, 127, 2 ^ 127, 2 ^ -127, 1, 2 ^ -127, nil, false, true, false, false },
    f8_e4m3fnuz = { 8, 4, 3, 8, 240, -240, 0.125, 2 ^ -7, 2 ^ -10, false, true, true, true },
    f8_e5m2fnuz = { 8, 5, 2, 16, 57344, -57344, 0.25, 2 ^ -15, 2 ^ -17, false, true, true, true },
    f6_e3m2 = { 6, 3, 2, 3, 28, -28, 0.25, 0.25, 0.0625, false, false, true, true },
    f6_e2m3 = { 6, 2, 3, 1, 7.5, -7.5, 0.125, 1, 0.125, false, false, true, true },
    f4_e2m1 = { 4, 2, 1, 1, 6, -6, 0.5, 1, 0.5, false, false, true, true },
    tf32 = { 32, 8, 10, 127, 3.4011621342146535e38, -3.4011621342146535e38, 2 ^ -10, 2 ^ -126,
      2 ^ -136, true, true, true, true },
  }
  local fields = {
    "bits", "exp_bits", "mant_bits", "bias", "max", "min", "eps", "smallest_normal",
    "smallest_subnormal", "has_inf", "has_nan", "has_zero", "signed",
  }
  for dtype, row in pairs(want) do
    local f = rille.finfo(dtype)
    t.eq(f.dtype, dtype)
    t.eq(f.tiny, f.smallest_normal)
    if dtype ~= "tf32" then t.eq(f.resolution, 1) end
    for i, field in ipairs(fields) do t.eq(f[field], row[i], dtype .. "." .. field) end
  end
  t.error_like(function() rille.iinfo "f8_e4m3" end, { code = "E_DTYPE" })
end)

t.test("other names of the formats", function()
  for name, dtype in pairs {
    float8_e4m3fn = "f8_e4m3", f8e4m3fn = "f8_e4m3", float8_e5m2 = "f8_e5m2", f8e5m2 = "f8_e5m2",
    float8_e8m0fnu = "f8_e8m0", f8e8m0fnu = "f8_e8m0", float8_e4m3fnuz = "f8_e4m3fnuz",
    f8e5m2fnuz = "f8_e5m2fnuz", f6e3m2fn = "f6_e3m2", float6_e2m3fn = "f6_e2m3",
    f4e2m1fn = "f4_e2m1", float4_e2m1fn = "f4_e2m1",
  } do
    t.eq(rille.finfo(name).dtype, dtype)
  end
end)

t.test("they are made as any tensor, and hold what fits", function()
  for _, dtype in ipairs(all) do
    local x = rille.tensor(values, { dtype = dtype })
    t.eq(x.dtype, dtype)
    t.eq(x:tolist(), values, dtype)
    t.eq(rille.ones(5, { dtype = dtype }):tolist(), { 1, 1, 1, 1, 1 })
    t.eq(rille.full({ 3 }, 4, { dtype = dtype }):tolist(), { 4, 4, 4 })
    t.eq(rille.arange(1, 2, { dtype = dtype }):tolist(), { 1, 2 })
    local normal = rille.randn(100, { dtype = dtype })
    t.eq(normal.dtype, dtype)
    if dtype ~= "f8_e8m0" then
      rille.seed(5)
      local wide = rille.randn(99)
      rille.seed(5)
      t.eq(rille.randn(99, { dtype = dtype }):tolist(), wide:to(dtype):tolist())
      t.eq(rille.zeros(2, 3, { dtype = dtype }):tolist(), { { 0, 0, 0 }, { 0, 0, 0 } })
      local uniform = rille.rand(500, { dtype = dtype }):float()
      t.eq(uniform:lt(1):logical_and(uniform:ge(0)):all(), true)
    end
    t.eq(rille.ones_like(x).dtype, dtype)
    t.eq(rille.empty(3, { dtype = dtype, device = "meta" }).dtype, dtype)
  end
end)

t.test("bytes: one each, four in three, two in one", function()
  for dtype, bytes in pairs { f8_e4m3 = 7, f8_e8m0 = 7, f6_e3m2 = 6, f6_e2m3 = 6, f4_e2m1 = 4 } do
    t.eq(rille.ones(7, { dtype = dtype }):nbytes(), bytes)
    t.eq(rille.ones(0, { dtype = dtype }):nbytes(), 0)
  end
  local before = rille.memory.allocated()
  local x <close> = rille.zeros(1 << 20, { dtype = "f4_e2m1" })
  local grown = rille.memory.allocated() - before
  t.ok(grown >= 1 << 19 and grown < 1 << 20)
end)

t.test("what is beyond the range goes by the target's rule, or as told", function()
  local x = rille.tensor { 465, -1e9, inf, -inf, 464 }
  t.eq(x:to "f8_e4m3", { 448, -448, 448, -448, 448 })
  t.eq(x:to("f8_e4m3", { saturate = false }), { nan, nan, nan, nan, 448 })
  t.eq(x:to("f8_e4m3", { saturate = true }), { 448, -448, 448, -448, 448 })
  t.eq(x:to "f8_e5m2", { 448, -inf, inf, -inf, 448 })
  t.eq(x:to("f8_e5m2", { saturate = true }), { 448, -57344, 57344, -57344, 448 })
  t.eq(x:to("f8_e4m3fnuz"), { nan, nan, nan, nan, nan })
  t.eq(x:to("f8_e4m3fnuz", { saturate = true }), { 240, -240, 240, -240, 240 })
  t.eq(x:to "f6_e3m2", { 28, -28, 28, -28, 28 })
  t.eq(x:to "f4_e2m1", { 6, -6, 6, -6, 6 })
  t.eq(rille.tensor { 3, 1.5, 0.75, 0, -1, inf, 1e-45 }:to "f8_e8m0",
    { 4, 2, 1, nan, nan, nan, 2 ^ -127 })
  t.eq(rille.tensor({ 1e300, inf }, { dtype = "f64" }):to("f8_e8m0", { saturate = true }),
    { 2 ^ 127, 2 ^ 127 })
  t.error_like(function() x:to("f4_e2m1", { saturate = false }) end,
    { code = "E_OPTION", message = "f4_e2m1 has neither inf nor nan: it always saturates" })
end)

t.test("casts from and to every dtype", function()
  for _, dtype in ipairs(all) do
    for _, other in ipairs { "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8" } do
      local x = rille.tensor(values, { dtype = other })
      t.eq(x:to(dtype):to(other):tolist(), x:tolist(), other .. " and " .. dtype)
    end
    for _, other in ipairs(all) do
      t.eq(rille.tensor(values, { dtype = other }):to(dtype):tolist(), values)
    end
    t.eq(rille.ones(3, { dtype = dtype }):to "bool", { true, true, true })
  end
  t.eq(rille.tensor({ true, false }):to("f4_e2m1"), { 1, 0 })
  t.eq(rille.tensor({ 200, 1 }, { dtype = "i64" }):to "f4_e2m1", { 6, 1 })
  t.eq(rille.tensor({ 1.0625 + 1e-12 }, { dtype = "f64" }):to("f8_e4m3"), { 1.125 })
  t.eq(1 / rille.tensor { -0.0 }:to("f4_e2m1"):item(), -inf)
end)

t.test("nan needs a format that has one", function()
  t.eq(rille.tensor { nan, 1 }:to "f8_e4m3", { nan, 1 })
  local x = rille.tensor { { 1, 2 }, { nan, 4 } }
  for _, dtype in ipairs(packed) do
    t.error_like(function() x:to(dtype) end,
      { code = "E_NAN_UNREPRESENTABLE", message = "nan at {2, 1}, and becomes " .. dtype })
    t.eq(x:to(dtype, { nan = "zero" }), { { 1, 2 }, { 0, 4 } })
    local refused = { code = "E_NAN_UNREPRESENTABLE" }
    t.error_like(function() rille.tensor({ 1, nan }, { dtype = dtype }) end, refused)
    t.error_like(function() rille.full({ 2 }, nan, { dtype = dtype }) end, refused)
    t.error_like(function() rille.zeros(2, 2, { dtype = dtype }):copy_(x) end, refused)
    t.error_like(function() rille.zeros(2, { dtype = dtype })[1] = nan end, refused)
    local y, odd = rille.ones(2, { dtype = dtype }), rille.tensor { true, false }
    refused.message = "the value is nan, which " .. dtype .. " does not have"
    t.error_like(function() rille.where(odd, y, nan) end, refused)
    t.error_like(function() y:masked_fill(odd, nan) end, refused)
    t.error_like(function() y:masked_fill_(odd, rille.tensor(nan)) end, refused)
  end
end)

t.test("stochastic casts: the mean of many is the value", function()
  local g = rille.generator(11)
  for dtype, x in pairs { f8_e4m3 = 1.03, f8_e5m2 = -1.1, f6_e2m3 = 0.3, f4_e2m1 = 2.2,
    f8_e8m0 = 5 } do
    local y = rille.full({ 200000 }, x):to(dtype, { rounding = "stochastic", generator = g })
    t.near(y:to("f64"):mean():item(), x, math.abs(x) * 0.01)
    t.eq(#y:float():unique(), 2)
  end
  t.eq(rille.full({ 50 }, 1e9):to("f8_e4m3", { rounding = "stochastic" }):eq(448):all(), true)
end)

t.test("elements are read and written where they lie", function()
  for _, dtype in ipairs(all) do
    local x = rille.tensor(values, { dtype = dtype })
    local want = { table.unpack(values) }
    for i = 1, #values do
      t.eq(x[i]:item(), values[i])
      x[i] = 2
      want[i] = 2
      t.eq(x:tolist(), want, dtype .. " at " .. i)
    end
    x[{ { 2, 6 } }] = 1
    x[{ { 8, 24, 5 } }] = 4
    for i = 2, 6 do want[i] = 1 end
    for i = 8, 24, 5 do want[i] = 4 end
    t.eq(x:tolist(), want, dtype)
    local m = rille.ones(3, 5, { dtype = dtype })
    m[{ {}, 2 }] = rille.tensor { 2, 4, 2 }
    t.eq(m:tolist(), { { 1, 2, 1, 1, 1 }, { 1, 4, 1, 1, 1 }, { 1, 2, 1, 1, 1 } })
    t.eq(m[rille.tensor({ 1 }, { dtype = "i64" })]:tolist(), { { 1, 4, 1, 1, 1 } })
    t.eq(m[m:gt(1)]:tolist(), { 2, 4, 2 })
    t.eq(m:t():contiguous():tolist()[2], { 2, 4, 2 })
  end
end)

t.test("a view of packed elements ends where bytes do", function()
  local x = rille.tensor(values, { dtype = "f4_e2m1" }):view(4, 6)
  t.eq(x[2]:tolist(), { 4, 4, 1, 2, 4, 2 })
  t.eq(x[{ { 2, 3 } }]:tolist(), { { 4, 4, 1, 2, 4, 2 }, { 1, 1, 4, 4, 2, 1 } })
  t.eq(x:t():tolist()[1], { 1, 4, 1, 1 })
  t.eq(x[{ {}, { 3, 6 } }]:tolist()[1], { 4, 1, 2, 2 })
  t.eq(x:expand(2, 4, 6)[2]:tolist(), x:tolist())
  x[2]:fill_(1)
  t.eq(x[2]:tolist(), { 1, 1, 1, 1, 1, 1 })
  local six = rille.tensor(values, { dtype = "f6_e3m2" }):view(6, 4)
  t.eq(six[3]:tolist(), { 1, 2, 4, 2 })
  t.eq(rille.ones(3, { dtype = "f4_e2m1" }):view(3, 1):tolist(), { { 1 }, { 1 }, { 1 } })
  local split = { code = "E_PACKED_VIEW" }
  t.error_like(function() return x[{ {}, { 2, 3 } }] end, split)
  t.error_like(function() return x[{ {}, 1 }] end, split)
  t.error_like(function() return x:view(8, 3)[2] end, split)
  t.error_like(function() return six:narrow(2, 1, 2) end, split)
  t.error_like(function() return rille.ones(4, { dtype = "f4_e2m1" })[{ { 1, 3 } }] end, split)
end)

t.test("copies, joins, comparisons, printing", function()
  for _, dtype in ipairs(all) do
    local x = rille.tensor({ { 1, 2, 4 }, { 2, 2, 1 } }, { dtype = dtype })
    t.eq(x:clone():tolist(), x:tolist())
    t.eq(rille.cat({ x, x }, 1):tolist(), { { 1, 2, 4 }, { 2, 2, 1 }, { 1, 2, 4 }, { 2, 2, 1 } })
    t.eq(rille.stack({ x, x }, 3).dtype, dtype)
    t.eq(x:flip(2):tolist(), { { 4, 2, 1 }, { 1, 2, 2 } })
    t.eq(x:index_select(2, rille.tensor({ 2, 0 }, { dtype = "i64" })), { { 4, 1 }, { 1, 2 } })
    t.eq(x:eq(2), { { false, true, false }, { true, true, false } })
    t.eq(x:lt(x:clone():fill_(2)), { { true, false, false }, { false, false, true } })
    t.eq(rille.equal(x, x:clone()), true)
    t.eq(rille.where(x:eq(2), x, x:flip(2)):tolist(), { { 4, 2, 1 }, { 2, 2, 2 } })
    t.eq(x:masked_fill(x:gt(2), 1):tolist(), { { 1, 2, 1 }, { 2, 2, 1 } })
    local y = rille.ones(2, 3)
    t.eq(y:copy_(x):tolist(), x:tolist())
    t.eq(tostring(x), ("{{1., 2., 4.},\n {2., 2., 1.}}\n%s[2, 3]"):format(dtype))
  end
end)

t.test("no arithmetic, no promotion: the error says what to do", function()
  local x, y = rille.ones(4, { dtype = "f8_e4m3" }), rille.ones(4)
  local promote, scaled = { code = "E_F8_PROMOTE" }, { code = "E_F8_NEEDS_SCALED" }
  t.error_like(function() return x + y end, promote)
  t.error_like(function() return y * x end, promote)
  t.error_like(function() return y:add_(x) end, promote)
  t.error_like(function() return x:eq(x:to "f8_e5m2") end, promote)
  t.error_like(function() return rille.cat { x, y } end, promote)
  t.error_like(function() return rille.promote("f8_e4m3", "i64") end, promote)
  t.eq(rille.promote("f4_e2m1", "f4_e2m1"), "f4_e2m1")
  for _, f in ipairs {
    function() return x + 1 end, function() return x * x end, function() return -x end,
    function() return x:sum() end, function() return x:exp() end,
    function() return x:view(2, 2):matmul(x:view(2, 2)) end,
    function() return rille.softmax(x, 1) end, function() return x:mul_(2) end,
  } do t.error_like(f, scaled) end
  t.error_like(function() rille.default_dtype "f8_e4m3" end, { code = "E_DTYPE" })
  t.error_like(function() rille.ones(2, { dtype = "f8_e4m3", requires_grad = true }) end,
    { code = "E_DTYPE" })
end)

t.test("gradients go through casts to narrow formats and back, in f32", function()
  for _, dtype in ipairs { "f8_e4m3", "f8_e5m2", "f4_e2m1" } do
    local x = rille.tensor({ 0.3, -1.2, 2.6, 0.9 }, { requires_grad = true })
    local w = rille.tensor { 1.03125, 1000.5, -0.001, 3 } -- no format here has these
    local y = x:to(dtype):view(2, 2):t():float() * w:view(2, 2)
    y:sum():backward()
    t.eq(x.grad.dtype, "f32")
    t.eq(x.grad:tolist(), { w[1]:item(), w[3]:item(), w[2]:item(), w[4]:item() })
  end
  local x = rille.tensor({ 1, 2, 3, 4 }, { dtype = "bf16", requires_grad = true })
  rille.cat({ x:to "f8_e5m2", x:to "f8_e5m2" }):to("f32"):sum():backward()
  t.eq(x.grad.dtype, "bf16")
  t.eq(x.grad:tolist(), { 2, 2, 2, 2 })
end)

t.test("saved and loaded as they are", function()
  local path = os.tmpname()
  local saved = {}
  for i, dtype in ipairs(all) do saved[i] = rille.tensor(values, { dtype = dtype }) end
  rille.save(path, saved)
  for _, mmap in ipairs { false, true } do
    for i, x in ipairs(rille.load(path, { mmap = mmap })) do
      t.eq(x.dtype, all[i])
      t.eq(x:tolist(), values)
    end
  end
  t.error_like(function() rille.save(path, { w = rille.ones(3, { dtype = "f4_e2m1" }) }) end,
    { code = "E_ARG", message = "tensor 'w' of f4_e2m1 ends inside a byte" })
  t.error_like(function() rille.io.npy(path, saved[1]) end,
    { code = "E_DTYPE", message = "numpy has no type for f8_e4m3" })
  os.remove(path)
end)
