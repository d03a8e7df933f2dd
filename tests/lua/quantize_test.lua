-- amp.quantize and amp.dequantize: scales by their definitions, codes by the nearest value.
local t = require "support.test"
local rille = require "rille"
local amp = rille.amp

local function wave(rows, columns, phase, amplitude)
  local list = {}
  for k = 0, rows * columns - 1 do list[k + 1] = amplitude * math.sin(0.7 * k + phase) end
  return rille.tensor(list):view(rows, columns)
end

-- The largest magnitude of list[from..to].
local function amax(list, from, to)
  local most = 0.0
  for i = from or 1, to or #list do most = math.max(most, math.abs(list[i])) end
  return most
end

-- OCP Microscaling Formats 1.0, table 5: all values of e2m1.
local e2m1 = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 }

-- The nearest of e2m1; its ties fall on codes that are even.
local function nearest(x)
  local best, size = 1, math.abs(x)
  for i, value in ipairs(e2m1) do
    local gain = math.abs(size - e2m1[best]) - math.abs(size - value)
    if gain > 0 or gain == 0 and i % 2 == 1 then best = i end
  end
  return x < 0 and -e2m1[best] or e2m1[best]
end

t.test("a scale for the tensor and for each row is amax / largest", function()
  local x = wave(3, 40, 0.3, 17)
  local q, scale, global = amp.quantize(x, "f8_e4m3")
  t.eq({ q.dtype, scale.dtype, scale:dim(), global:item() }, { "f8_e4m3", "f32", 0, 1 })
  local flat = x:flatten():tolist()
  t.near(scale:item(), amax(flat) / 448, 1e-7)
  t.near(q:to("f32"):abs():amax():item(), 448)
  local _, rows = amp.quantize(x, "f8_e5m2", { per = "row" })
  t.eq(rows:shape(), { 3, 1 })
  for i, row in ipairs(x:tolist()) do t.near(rows:tolist()[i][1], amax(row) / 57344, 1e-7) end
end)

-- torch 2.15.0: (x / scale).to(torch.float8_e4m3fn) of x = 17 sin(0.7 k + 0.3), k = 0..11, in f32,
-- with scale = x.abs().max() / 448.
t.test("codes are PyTorch's", function()
  local q = amp.quantize(wave(1, 12, 0.3, 17), "f8_e4m3")
  t.eq(q:to("f32"):tolist()[1],
    { 128, 384, 448, 320, 18, -288, -448, -384, -176, 144, 384, 448 })
end)

t.test("MX: a power of two that nothing is beyond, and the nearest codes", function()
  local x = wave(2, 72, 0.3, 17)
  local q, scale = amp.quantize(x, "f4_e2m1", { per = "block", block = 32 })
  t.eq({ scale.dtype, scale:size(1), scale:size(2) }, { "f8_e8m0", 2, 3 })
  local codes, scales = q:to("f32"):tolist(), scale:to("f32"):tolist()
  for r, row in ipairs(x:tolist()) do
    for b = 1, 3 do
      local from, to = 32 * b - 31, math.min(72, 32 * b)
      local want = 2.0 ^ math.ceil(math.log(amax(row, from, to) / 6, 2))
      t.eq(scales[r][b], want)
      for c = from, to do t.eq(codes[r][c], nearest(row[c] / want)) end
    end
  end
end)

t.test("four bits with scales of f8_e4m3 and a global one", function()
  local x = wave(2, 40, 0.3, 17) * rille.tensor { { 1 }, { 1e-3 } }
  local q, scale, global = amp.quantize(x, "f4_e2m1", { per = "block" })
  local flat = x:flatten():tolist()
  t.near(global:item(), amax(flat) / (6 * 448), 1e-7)
  local codes, scales, g = q:to("f32"):tolist(), scale:to("f32"):tolist(), global:item()
  for r, row in ipairs(x:tolist()) do
    for b = 1, 3 do
      local from, to = 16 * b - 15, math.min(40, 16 * b)
      local ideal = amax(row, from, to) / 6 / g
      t.ok(math.abs(scales[r][b] - ideal) <= math.max(ideal / 16, 2.0 ^ -10), "rounded once")
      for c = from, to do
        local want = scales[r][b] == 0 and 0 or nearest(math.max(-6, math.min(6,
          row[c] / (scales[r][b] * g))))
        t.near(codes[r][c], want)
      end
    end
  end
end)

t.test("dequantize takes the results of quantize as they come", function()
  local x = wave(4, 64, 0.1, 3)
  local error_of = { f8_e4m3 = 2 ^ -4, f8_e5m2 = 2 ^ -3, f6_e2m3 = 2 ^ -4, f6_e3m2 = 2 ^ -3 }
  for dtype, relative in pairs(error_of) do
    for _, per in ipairs { "tensor", "row", "block" } do
      local back = amp.dequantize(amp.quantize(x, dtype, { per = per }))
      t.eq(back.dtype, "f32")
      -- A half of the last place, or of the smallest subnormal, at the scale in use.
      local floor = rille.finfo(dtype).smallest_subnormal * 6 / rille.finfo(dtype).max
      local worst = ((back - x):abs() - x:abs() * relative):amax():item()
      t.ok(worst <= floor, dtype .. " per " .. per)
    end
  end
  local q, scale = amp.quantize(x, "f8_e4m3", { per = "row" })
  t.eq(amp.dequantize(q, scale, { dtype = "bf16" }).dtype, "bf16")
end)

t.test("a scale of one's own; what is beyond ends at the largest", function()
  local x = rille.tensor { -1000, -2, 0.25, 3 }
  t.eq(amp.quantize(x, "f8_e4m3", { scale = 0.5 }):to("f32"):tolist(), { -448, -4, 0.5, 6 })
  t.eq(amp.quantize(x, "f8_e5m2", { scale = 2 ^ -8 }):to("f32"):tolist(), { -57344, -512, 64, 768 })
  local rows = rille.tensor { { 0.5 }, { 2 } }
  local q = amp.quantize(x:view(2, 2), "f6_e2m3", { per = "row", scale = rows })
  t.eq(q:to("f32"):tolist(), { { -7.5, -4 }, { 0.125, 1.5 } })
  local mx = rille.tensor({ { 4 } }):to "f8_e8m0"
  t.eq(amp.quantize(x:view(1, 4), "f4_e2m1", { scale = mx }):to("f32"):tolist(),
    { { -6, -0.5, 0, 1 } })
end)

t.test("zeros have the scale 1; what is not finite is seen in all that it scales", function()
  t.eq(select(2, amp.quantize(rille.zeros(2, 3), "f8_e4m3")):item(), 1)
  local x = rille.tensor { { 1, 1 / 0 }, { 1, 2 } }
  local q, scale = amp.quantize(x, "f4_e2m1", { per = "row" })
  t.eq(scale:isnan():flatten():tolist(), { true, false })
  t.eq(amp.dequantize(q, scale):isnan():tolist(), { { true, true }, { false, false } })
  local _, mx = amp.quantize(x, "f8_e4m3", { per = "block" })
  t.eq(mx:to("f32"):isnan():flatten():tolist(), { true, false })
  -- With a scale that is given: infinity where the format has it, else nan.
  t.eq(amp.quantize(x, "f8_e5m2", { scale = 1.0 }):to("f32"):tolist(), { { 1, 1 / 0 }, { 1, 2 } })
  t.eq(amp.quantize(x, "f8_e4m3", { scale = 1.0 }):to("f32"):tolist(), { { 1, 0 / 0 }, { 1, 2 } })
end)

t.test("amax_scale fills the range; a power of two stays below", function()
  local x = rille.tensor { 3.0, -5.0 }
  t.near(amp.f8.amax_scale(x, "f8_e4m3"):item(), 448 / 5, 1e-7)
  t.eq(amp.f8.amax_scale(x, "f8_e4m3", { power_of_two = true }):item(), 64)
  t.eq(amp.f8.amax_scale(rille.tensor { 7.0 }, "f8_e4m3", { power_of_two = true }):item(), 64)
  t.eq(amp.f8.amax_scale(rille.zeros(3), "f8_e5m2"):item(), 1)
  t.ok(amp.f8.amax_scale(rille.tensor { 0 / 0 }, "f8_e5m2"):isnan():item())
end)

t.test("bits do not depend on threads; bf16 comes as it is", function()
  local x = rille.randn(64, 640, { generator = rille.generator(3) })
  local before = rille.threads()
  rille.threads(1)
  local alone = amp.quantize(x, "f8_e4m3", { per = "block" })
  rille.threads(4)
  local q, scale = amp.quantize(x, "f8_e4m3", { per = "block" })
  rille.threads(before)
  t.ok(q:to("f32"):eq(alone:to "f32"):all():item())
  local half = x:to "bf16"
  local a, b = amp.quantize(half, "f8_e5m2"), amp.quantize(half:to "f32", "f8_e5m2")
  t.ok(a:to("f32"):eq(b:to "f32"):all():item())
  t.eq(scale:shape(), { 64, 20 })
end)

t.test("a gradient passes there and back straight through, but for what was cut off", function()
  local x = rille.tensor({ -1000, -2, 0.26, 3 }, { requires_grad = true })
  local q, scale, global = amp.quantize(x, "f8_e4m3", { scale = 0.5 })
  amp.dequantize(q, scale, global):backward(rille.tensor { 1, 2, 3, 4 })
  t.eq(x.grad:tolist(), { 0, 2, 3, 4 })
  x.grad = nil
  amp.dequantize(amp.quantize(x, "f8_e4m3")):sum():backward()
  t.near(x.grad:tolist(), { 1, 1, 1, 1 }, 1e-6)
end)

t.test("on meta", function()
  local q, scale = amp.quantize(rille.empty(4, 64, { device = "meta" }), "f8_e4m3",
    { per = "block" })
  t.eq({ q.device, q.dtype, scale.dtype, scale:size(2) }, { "meta", "f8_e4m3", "f8_e8m0", 2 })
end)

t.test("wrong calls", function()
  local x = rille.ones(4, 40)
  local function refused(wanted, ...)
    local given = table.pack(...)
    t.error_like(function() amp.quantize(table.unpack(given, 1, given.n)) end, wanted)
  end
  refused({ code = "E_DTYPE", message = "not f8_e8m0" }, x, "f8_e8m0")
  refused({ code = "E_DTYPE", message = "not bf16" }, x, "bf16")
  refused({ code = "E_DTYPE", message = "got i64" }, x:to "i64", "f8_e4m3")
  refused({ code = "E_OPTION", message = "'block' goes with per = 'block'" }, x, "f8_e4m3",
    { block = 8 })
  refused({ code = "E_SHAPE", message = "rows of 40 don't divide into blocks of 12" }, x, "f8_e4m3",
    { per = "block", block = 12 })
  refused({ code = "E_TYPE", message = "'per'" }, x, "f8_e4m3", { per = "column" })
  refused({ code = "E_SHAPE", message = "a single value has no rows" }, rille.tensor(1.0),
    "f8_e4m3", { per = "row" })
  refused({ code = "E_SHAPE", message = "scales [4] don't fit x [4, 40]" }, x, "f8_e4m3",
    { scale = rille.ones(4) })
  refused({ code = "E_NAN_UNREPRESENTABLE", message = "element 2 of x is not finite" },
    rille.tensor { 1, 0 / 0 }, "f6_e2m3", { scale = 1.0 })
  t.error_like(function() amp.dequantize(x:to "f8_e4m3", rille.ones(4, 3)) end,
    { code = "E_SHAPE", message = "scales [4, 3] don't fit x [4, 40]" })
  t.error_like(function() amp.dequantize(x:to "f8_e4m3", rille.ones(4, 1):to "bf16") end,
    { code = "E_DTYPE", message = "'scale' must be f32, f8_e8m0 or f8_e4m3, got bf16" })
end)
