-- Products of narrow floats: against PyTorch's on the CPU, and against sums in f64 of what codes
-- and scales stand for.
local t = require "support.test"
local rille = require "rille"

-- Element k from 0 is amplitude * sin(0.7 k + phase), in f32 before it is rounded to `dtype`.
local function wave(rows, columns, phase, amplitude, dtype)
  local list = {}
  for k = 0, rows * columns - 1 do list[k + 1] = amplitude * math.sin(0.7 * k + phase) end
  return rille.tensor(list):view(rows, columns):to(dtype)
end

-- torch 2.15.0 (CPU), with a = wave(3, 24, 0.3, 2.5), b = wave(4, 24, 1.1, 300), each .to(dtype):
-- torch._scaled_mm(a, b.t(), scale_a=, scale_b=, bias=, out_dtype=). "one" is scale_a = 0.37 and
-- scale_b = 0.011, "rows" scale_a = [[0.5], [1.3], [0.07]], scale_b = [[0.02, 0.003, 1.7, 0.4]],
-- "bias" as "one" with [1.5, -2.25, 0.125, 30] to bfloat16.
local recorded = {
  {
    a = "f8_e4m3", b = "f8_e4m3",
    one = { { 25.9526081, 9.88145161, -35.0336685, 23.0155964 },
      { -36.7054253, 27.2478867, 12.3516865, -38.8463402 },
      { 7.64346027, -34.5298843, 23.4716949, 12.4989681 } },
    rows = { { 63.7656212, 3.64181209, -7316.61377, 1130.98755 },
      { -234.481812, 26.1097679, 6706.93604, -4963.16895 },
      { 2.6291995, -1.78163993, 686.273071, 85.9880142 } },
    bias = { { 27.5, 7.625, -35, 53 }, { -35.25, 25, 12.5, -8.875 },
      { 9.125, -36.75, 23.625, 42.5 } },
    default = { { 26, 10, -36, 24 }, { -36, 28, 12, -40 }, { 7.5, -36, 24, 12 } },
  },
  {
    a = "f8_e4m3", b = "f8_e5m2",
    one = { { 27.3895721, 9.3101263, -34.9190712, 22.3722801 },
      { -38.7811241, 27.2153263, 12.5864763, -37.5150986 },
      { 8.11557961, -33.9448166, 23.1827202, 11.9250994 } },
    rows = { { 67.2962494, 3.4312501, -7292.68115, 1099.375 },
      { -247.741791, 26.0785732, 6834.42529, -4793.08398 },
      { 2.79159999, -1.75145245, 677.824097, 82.0400009 } },
    bias = { { 28.875, 7.0625, -34.75, 52.25 }, { -37.25, 25, 12.6875, -7.5 },
      { 9.625, -36.25, 23.25, 42 } },
    default = { { 28, 9, -36, 22 }, { -40, 28, 13, -36 }, { 8, -32, 24, 12 } },
  },
  {
    a = "f8_e5m2", b = "f8_e5m2",
    one = { { 26.3150921, 9.2796011, -33.9827194, 21.4697571 },
      { -37.5116653, 26.4682274, 12.1367407, -36.3751144 },
      { 8.33942986, -33.5256119, 22.6353035, 12.0797586 } },
    rows = { { 64.65625, 3.42000008, -7097.12842, 1055.0249 },
      { -239.632217, 25.3626766, 6590.21973, -4647.43555 },
      { 2.86859965, -1.72982252, 661.818542, 83.1039963 } },
    bias = { { 27.875, 7.03125, -33.75, 51.5 }, { -36, 24.25, 12.25, -6.375 },
      { 9.8125, -35.75, 22.75, 42 } },
    default = { { 28, 10, -32, 20 }, { -40, 28, 12, -40 }, { 8, -32, 24, 12 } },
  },
}

t.test("as PyTorch: one scale, rows of scales, bias, dtypes", function()
  local row_a = rille.tensor { { 0.5 }, { 1.3 }, { 0.07 } }
  local row_b = rille.tensor { { 0.02, 0.003, 1.7, 0.4 } }
  local bias = rille.tensor({ 1.5, -2.25, 0.125, 30 }, { dtype = "bf16" })
  for _, case in ipairs(recorded) do
    local a = wave(3, 24, 0.3, 2.5, case.a)
    local b = wave(4, 24, 1.1, 300, case.b):t()
    local one = { scale_a = 0.37, scale_b = 0.011, dtype = "f32" }
    t.near(rille.scaled_mm(a, b, one):tolist(), case.one, 1e-6, case.b)
    t.near(rille.scaled_mm(a, b:contiguous(), one):tolist(), case.one, 1e-6, "row-major b")
    local rows = { scale_a = row_a, scale_b = row_b, dtype = "f32" }
    t.near(rille.scaled_mm(a, b, rows):tolist(), case.rows, 1e-6, case.b)
    local biased = { scale_a = 0.37, scale_b = 0.011, bias = bias, dtype = "bf16" }
    t.eq(rille.scaled_mm(a, b, biased):tolist(), case.bias, case.b)
    local default = a:scaled_mm(b, { scale_a = rille.tensor(0.37), scale_b = rille.tensor(0.011) })
    t.eq(default.dtype, case.a)
    t.eq(default:to("f32"):tolist(), case.default, case.b)
  end
end)

-- sum over k of a[i][k] * scale * b[k][j] * scale, in f64; scale_of(list, row, k) may be nil.
local function sums(a, b, scale_a, scale_b)
  local left, right, out = a:to("f64"):tolist(), b:to("f64"):tolist(), {}
  for i = 1, #left do
    out[i] = {}
    for j = 1, #right[1] do
      local sum = 0.0
      for k = 1, #right do
        sum = sum + left[i][k] * scale_a(i, k) * (right[k][j] * scale_b(k, j))
      end
      out[i][j] = sum
    end
  end
  return out
end

local function at_blocks(scale, block, of_b)
  local list = scale:to("f64"):tolist()
  if of_b then return function(k, j) return list[(k - 1) // block + 1][j] end end
  return function(i, k) return list[i][(k - 1) // block + 1] end
end

t.test("block scales of f8_e8m0: blocks of 32, the last one shorter", function()
  for _, dtype in ipairs { "f8_e4m3", "f8_e5m2", "f6_e3m2", "f6_e2m3", "f4_e2m1" } do
    local a, scale_a = rille.quantize(wave(3, 80, 0.2, 900, "f32"), dtype, { per = "block",
      block = 32 })
    local b, scale_b = rille.quantize(wave(5, 80, 0.9, 1e-3, "f32"), "f8_e4m3", { per = "block" })
    t.eq(scale_a.dtype, "f8_e8m0")
    t.eq(scale_a:shape(), { 3, 3 })
    local options = { scale_a = scale_a, scale_b = scale_b:t(), dtype = "f32" }
    local want = sums(a, b:t(), at_blocks(scale_a, 32), at_blocks(scale_b:t(), 32, true))
    t.near(rille.scaled_mm(a, b:t(), options):tolist(), want, 1e-5, dtype)
  end
end)

t.test("four bits: block scales of f8_e4m3 per 16, and a global one", function()
  local a, scale_a, global_a = rille.quantize(wave(3, 64, 0.2, 90, "f32"), "f4_e2m1",
    { per = "block" })
  local b, scale_b, global_b = rille.quantize(wave(4, 64, 0.9, 5, "f32"), "f4_e2m1",
    { per = "block" })
  t.eq({ scale_a.dtype, global_a.dtype }, { "f8_e4m3", "f32" })
  local want = sums(a, b:t(), at_blocks(scale_a, 16), at_blocks(scale_b:t(), 16, true))
  local factor = global_a:item() * global_b:item()
  for _, row in ipairs(want) do
    for j, value in ipairs(row) do row[j] = value * factor end
  end
  t.near(rille.scaled_mm(a, b:t(), {
    scale_a = scale_a, scale_b = scale_b:t(), global_scale_a = global_a, global_scale_b = global_b,
    dtype = "f32",
  }):tolist(), want, 1e-5)
end)

t.test("f32 scales for blocks that divide k; wide factors; strides", function()
  local a, scale_a = rille.quantize(wave(3, 48, 0.2, 90, "f32"), "f8_e4m3",
    { per = "block", block = 12 })
  t.eq({ scale_a.dtype, scale_a:size(2) }, { "f32", 4 })
  local b = wave(48, 4, 0.4, 2, "bf16")
  local want = sums(a, b, at_blocks(scale_a, 12), function() return 1 end)
  local options = { scale_a = scale_a, dtype = "f32" }
  t.near(rille.scaled_mm(a, b, options):tolist(), want, 1e-5)
  local every = wave(6, 96, 0.2, 3, "f8_e4m3")[{ { 2, 4 }, { 1, 48 } }]
  local no = function() return 1 end
  t.near(rille.scaled_mm(every, b, { dtype = "f32" }):tolist(), sums(every, b, no, no), 1e-5)
end)

t.test("panels of a large b give what the whole does", function()
  local k, n = 4096, 1100                               -- more than one panel of 2^21 elements
  local a = rille.randn(2, k, { generator = rille.generator(1) }):to "f8_e4m3"
  local b = rille.randn(n, k, { generator = rille.generator(2) }):to "f8_e5m2"
  local got = rille.scaled_mm(a, b:t(), { dtype = "f32", scale_b = 0.25 })
  local want = a:to("f32"):matmul(b:to("f32"):t()) * 0.25
  t.ok((got - want):abs():amax():item() < 1e-3)
  local scale = rille.rand(n, 128, { generator = rille.generator(3) }):to "f8_e8m0"
  local blocks = rille.scaled_mm(a, b:t(), { dtype = "f32", scale_b = scale:t() })
  local wide = b:to("f32") * scale:to("f32"):repeat_interleave(32, 2)
  t.ok((blocks - a:to("f32"):matmul(wide:t())):abs():amax():item() < 1e-3)
end)

t.test("weights of eight bits at rest, as a recipe has them", function()
  local amp, device = rille.amp, rille.default_device()
  t.eq({ rille.finfo("f8_e4m3").max, rille.finfo("f4_e2m1").max }, { 448, 6 })
  local w = rille.randn(384, 384, { device = device })
  local w8, scale = amp.quantize(w, "f8_e4m3", { per = "row" })
  local x = rille.randn(16, 384, { device = device })
  local p = rille.scaled_mm(x:to("f8_e4m3"), w8:t(), { scale_b = scale:t(), dtype = "bf16" })
  t.eq({ p.dtype, p:size(1), p:size(2) }, { "bf16", 16, 384 })
  local want = x:to("f8_e4m3"):to("f64"):matmul((w8:to "f64" * scale:to "f64"):t())
  local size = want:abs():amax():item()
  t.ok((p:to "f64" - want):abs():amax():item() <= size * 2 ^ -8, "rounded to bf16, once")
end)

t.test("shapes on meta, logical devices", function()
  local a = rille.empty(3, 64, { dtype = "f8_e4m3", device = "meta" })
  local b = rille.empty(64, 5, { dtype = "f8_e5m2", device = "meta" })
  local y = rille.scaled_mm(a, b, { dtype = "bf16", scale_a = 2.0 })
  t.eq({ y.device, y.dtype, y:size(1), y:size(2) }, { "meta", "bf16", 3, 5 })
  local other = wave(3, 8, 0, 1, "f8_e4m3"):to "cpu:1"
  t.eq(rille.scaled_mm(other, other:t(), { dtype = "f32" }).device, "cpu:1")
end)

t.test("gradients pass roundings straight through, in f32", function()
  local x = wave(3, 8, 0.2, 2, "f32"):requires_grad_()
  local w = wave(8, 4, 0.9, 3, "f32"):requires_grad_()
  local scale = rille.tensor({ { 0.5 }, { 2 }, { 0.3 } }, { requires_grad = true })
  local bias = rille.zeros(4, { requires_grad = true })
  local dy = wave(3, 4, 0.4, 1, "f32")
  rille.scaled_mm(x:to "f8_e4m3", w:to "f8_e4m3", {
    scale_a = scale, scale_b = 0.25, bias = bias, dtype = "f32",
  }):backward(dy)
  local wide = function(v) return v:detach():to("f8_e4m3"):to "f64" end
  local x8, w8, dyw, s = wide(x), wide(w), dy:to "f64", scale:detach():to "f64"
  t.near(x.grad:tolist(), (dyw:matmul(w8:t()) * s * 0.25):tolist(), 1e-6)
  t.near(w.grad:tolist(), ((x8 * s):t():matmul(dyw) * 0.25):tolist(), 1e-6)
  local by_row = (dyw * x8:matmul(w8) * 0.25):sum(2, { keepdim = true })
  t.near(scale.grad:tolist(), by_row:tolist(), 1e-6)
  t.near(bias.grad:tolist(), dyw:sum(1):tolist(), 1e-6)
end)

t.test("nan and infinities arrive", function()
  local a = rille.tensor({ { 1, 0 / 0 }, { 1, 2 } }):to "f8_e4m3"
  local b = rille.tensor({ { 1, 1 / 0 }, { 1, 1 } }):to "f8_e5m2"
  local y = rille.scaled_mm(a, b, { dtype = "f32" }):tolist()
  t.eq(y, { { 0 / 0, 0 / 0 }, { 3, 1 / 0 } })
end)
