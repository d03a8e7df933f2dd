-- What t:fpstats() counts, against numpy 2.4 and ml_dtypes 0.6: each tensor was cast to each format
-- there, and what became 0, smaller than the smallest normal value or not finite was counted. Then
-- histograms, reports and advice, whose numbers are known by how the tensors were made.
local t = require "support.test"
local rille = require "rille"
local amp, nn = rille.amp, rille.nn

-- 4096 values over 64 powers of two, from a linear congruential sequence.
local function spread()
  local state, values = 12345, {}
  for i = 1, 4096 do
    state = state * 6364136223846793005 + 1442695040888963407
    local sign = (state >> 31) & 1 == 1 and -1.0 or 1.0
    values[i] = sign * (state >> 40) * 2.0 ^ (((state >> 32) & 63) - 64)
  end
  return values
end

-- Ends of ranges, ties and their neighbours; each is a value of f32 or becomes one by one rounding.
local above = 1 + 2.0 ^ -23
local edges = {
  0.0, -0.0, math.huge, -math.huge, 0 / 0, 2.0 ^ -24, 2.0 ^ -25, 2.0 ^ -25 * above, 2.0 ^ -14,
  2.0 ^ -14 - 2.0 ^ -25, 2.0 ^ -14 - 2.0 ^ -24, 65504, 65519, 65520, -65520, 464, 464 * above, -448,
  465, 2.0 ^ -10, 2.0 ^ -10 * above, 2.0 ^ -6 - 2.0 ^ -10, 2.0 ^ -6, 61439, 61440, 57344, 2.0 ^ -17,
  2.0 ^ -16, 2.0 ^ -126, 2.0 ^ -134, 2.0 ^ -133, 2.0 ^ -149, 3.3895313892515355e38, 0x1.ffp127,
  3.4028234663852886e38, 2.0 ^ -127, 1.0,
}

-- Flushed, underflowing and overflowing values of f16, bf16, f8_e4m3 and f8_e5m2.
local expected = {
  f64 = {
    zeros = 0, subnormals = 0, inf = 0, min = 1.0597967815828557e-14, max = 8110018.0,
    exponents = { -47, 22 }, counts = { 62, 61, 73, 51, 72 },
    lost = { { 1106, 1804, 353 }, { 0, 0, 0 }, { 2054, 2307, 815 }, { 1633, 1794, 357 } },
  },
  f16 = {
    zeros = 1106, subnormals = 698, inf = 353, min = 5.960464477539063e-08, max = 65088.0,
    exponents = { -24, 15 }, counts = { 88, 61, 73, 51, 72 },
    lost = { { 0, 698, 0 }, { 0, 0, 0 }, { 948, 1201, 461 }, { 528, 688, 4 } },
  },
  bf16 = {
    zeros = 0, subnormals = 0, inf = 0, min = 1.0602629885170245e-14, max = 8093696.0,
    exponents = { -47, 22 }, counts = { 62, 61, 74, 51, 72 },
    lost = { { 1106, 1804, 353 }, { 0, 0, 0 }, { 2054, 2307, 813 }, { 1634, 1794, 357 } },
  },
}
expected.f32 = expected.f64

-- Formats of eight bits and fewer, cast as Rille does: those without infinity saturate.
expected.f8_e4m3 = {
  zeros = 2054, subnormals = 253, inf = 0, min = 0.001953125, max = 448.0,
  exponents = { -9, 8 }, lost = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 253, 0 }, { 0, 0, 0 } },
}
expected.f8_e5m2 = {
  zeros = 1633, subnormals = 161, inf = 357, min = 1.52587890625e-05, max = 57344.0,
  exponents = { -16, 15 }, lost = { { 0, 161, 0 }, { 0, 0, 0 }, { 429, 674, 453 }, { 0, 161, 0 } },
}
expected.f4_e2m1 = {
  zeros = 2558, subnormals = 106, inf = 0, min = 0.5, max = 6.0, exponents = { -1, 2 },
  lost = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } },
}

local formats = { "f16", "bf16", "f8_e4m3", "f8_e5m2" }

local function lost_counts(stats)
  local list = {}
  for i, format in ipairs(formats) do
    local c = stats.counts[format]
    list[i] = { c.flush, c.underflow, c.overflow }
  end
  return list
end

for dtype, want in pairs(expected) do
  t.test("fpstats of " .. dtype .. " as numpy and ml_dtypes count", function()
    local x = rille.tensor(spread(), { dtype = "f64" }):to(dtype)
    local s = x:fpstats()
    t.eq({ s.numel, s.zeros, s.subnormals, s.inf, s.nan },
      { 4096, want.zeros, want.subnormals, want.inf, 0 })
    t.eq({ s.min, s.max }, { want.min, want.max })
    t.eq({ s.min_exponent, s.max_exponent }, want.exponents)
    for i, exponent in ipairs { -24, -10, 0, 3, 15 } do
      if want.counts then t.eq(s.exponents[exponent], want.counts[i]) end
    end
    local all = 0
    for _, count in pairs(s.exponents) do all = all + count end
    t.eq(all, 4096 - want.zeros - want.inf)
    t.eq(lost_counts(s), want.lost)
    t.eq(s.f8_e5m2.flush, want.lost[4][1] / all)
    if want.counts then
      t.eq(lost_counts(x:view(64, 64):t():fpstats()), want.lost, "strided")
    end
  end)
end

t.test("fpstats at the ends of ranges and at ties", function()
  local want = { { 6, 11, 5 }, { 2, 4, 2 }, { 14, 15, 12 }, { 9, 10, 8 } }
  local wide = rille.tensor(edges, { dtype = "f64" })
  for dtype, subnormals in pairs { f64 = 0, f32 = 4 } do
    local s = wide:to(dtype):fpstats()
    t.eq({ s.numel, s.zeros, s.subnormals, s.inf, s.nan }, { 37, 2, subnormals, 2, 1 })
    t.eq({ s.min_exponent, s.max_exponent, s.min }, { -149, 127, 2.0 ^ -149 })
    t.eq(lost_counts(s), want)
  end
end)

t.test("fpstats of nothing, of zeros and of what has no values", function()
  local s = rille.zeros(0):fpstats()
  t.eq({ s.numel, s.min, s.min_exponent, s.f16.flush }, { 0, nil, nil, 0 })
  t.eq(rille.zeros(3, 3):fpstats().zeros, 9)
  t.error_like(function() rille.tensor({ 1, 2 }):fpstats() end,
    { code = "E_DTYPE", message = "needs a float tensor, got i64" })
  t.error_like(function() rille.zeros(2, { device = "meta" }):fpstats() end,
    { code = "E_NO_KERNEL" })
end)

t.test("many values, on any number of threads", function()
  local x, before = rille.randn(300000), rille.threads()
  rille.threads(1)
  local one = x:fpstats()
  rille.threads(4)
  t.eq(x:fpstats().exponents, one.exponents)
  rille.threads(before)
end)

t.test("the text of fpstats", function()
  t.eq(tostring(rille.tensor({ 0.0, 1.0, 3.0, 1e-9, 1e6 }):fpstats()), table.concat({
    "5 values: 1 zero, 0 subnormal, 0 inf, 0 nan",
    "magnitudes from 1e-09 to 1e+06, exponents -30 to 19",
    "would lose    becomes 0   subnormal or 0   beyond the largest",
    "  f16            25.0 %           25.0 %               25.0 %",
    "  bf16                -                -                    -",
    "  f8_e4m3        25.0 %           25.0 %               25.0 %",
    "  f8_e5m2        25.0 %           25.0 %               25.0 %",
  }, "\n"))
end)

-- A model whose numbers are known: y = 2^k x for each layer.
local function scaled_by(...)
  local model = nn.Sequential()
  for i, power in ipairs { ... } do
    model[i] = nn.Linear(4, 4, { bias = false })
    rille.no_grad(function() model[i].weight:copy_(rille.eye(4) * 2.0 ^ power) end)
  end
  return model
end

t.test("a histogram names parameters and gradients", function()
  local model = scaled_by(0, -3)
  local drawn = amp.histogram(model)
  t.eq(#drawn, 2)
  t.eq({ drawn[1].label, drawn[2].label }, { "1.weight", "2.weight" })
  t.eq(drawn[2].stats.exponents, { [-3] = 4 })
  model(rille.ones(1, 4) * 2.0 ^ -30):sum():backward()
  drawn = amp.histogram(model)
  t.eq({ drawn[2].label, drawn[4].label }, { "1.weight grad", "2.weight grad" })
  t.eq(drawn[2].stats.exponents, { [-33] = 16 })
  t.eq(tostring(drawn), table.concat({
    "               2^-40   2^-32   2^-24   2^-16   2^-8    2^0     2^8",
    "f16           |                ----------==============================|",
    "bf16          |========================================================|",
    "f8_e4m3       |                               ---===============       |",
    "f8_e5m2       |                        --==============================|",
    "1.weight      |                                        @               |",
    "1.weight grad |       @                                                | 100.0 % to 0",
    "2.weight      |                                     @                  |",
    "2.weight grad |          @                                             | 100.0 % to 0",
    "=  all digits   -  fewer digits   right: what f16 loses",
  }, "\n"))
  t.error_like(function() amp.histogram(3) end, { code = "E_TYPE", message = "must be a module" })
  t.error_like(function() amp.histogram(model, { format = "f7" }) end, { code = "E_TYPE" })
end)

local function kinds_of(report)
  local list = {}
  for _, row in ipairs(report:rows()) do
    list[#list + 1] = ("%s %s %d"):format(row.layer, row.values, row.tensors)
  end
  return list
end

t.test("a report sees activations and gradients of each layer, while it lasts", function()
  local model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))
  do
    local report <close> = amp.report(model)
    for _ = 1, 3 do model(rille.randn(8, 3)):sum():backward() end
    t.ok(rawequal(report, amp.report()))
  end
  model(rille.randn(8, 3)):sum():backward()
  t.eq(kinds_of(amp.report()), {
    "1 weights 2", "1 activations 3", "1 activation gradients 3", "1 weight gradients 6",
    "2 activations 3", "2 activation gradients 3", "3 weights 2", "3 activations 3",
    "3 activation gradients 3", "3 weight gradients 6",
  })
  t.eq(amp.report():rows()[2].stats.numel, 3 * 8 * 5)
  local every = amp.report(model, { every = 2 }, function()
    for _ = 1, 4 do model(rille.randn(8, 3)) end
  end)
  t.eq(every:rows()[2].tensors, 2)
end)

t.test("what fits into f16 needs nothing", function()
  local report = amp.report(scaled_by(0, 1), function() end)
  local dtype, scaler, list = report:advice()
  t.eq({ dtype, scaler, #list }, { "f16", false, 0 })
end)

t.test("small gradients: a scale for the whole model, as large as its largest gradient lets it be",
  function()
    local model = scaled_by(0, -20)
    local report = amp.report(model, function()
      (model(rille.ones(2, 4)) * 2.0 ^ -10):sum():backward()
    end)
    local dtype, scaler, list = report:advice()
    t.eq({ dtype, scaler, #list }, { "f16", true, 1 })
    t.eq(list[1].layer, "1")
    t.eq(list[1].text, "f16 makes 100.0 % of its activation gradients 0: scale the loss, "
      .. "by 2^23 at most")
    t.ok(tostring(report):find("use f16 with a GradScaler\n  1: ", 1, true))
  end)

t.test("gradients that no scale brings into f16 want bf16", function()
  local model = scaled_by(0, -60)
  local dtype, scaler, list = amp.report(model, function()
    model(rille.ones(2, 4)):sum():backward()
  end):advice()
  t.eq({ dtype, scaler, list[1].layer, list[1].dtype }, { "bf16", false, "1", "bf16" })
end)

t.test("the layer whose activations leave f16 is named first", function()
  local model = scaled_by(0, 20, 0)
  local dtype, _, list = amp.report(model, function() model(rille.ones(2, 4)) end):advice()
  t.eq({ dtype, list[1].layer, #list }, { "bf16", "2", 2 })
  t.eq(list[1].text, "weights reach 2^20, f16 ends at 65504: bf16, or keep it in f32")
  t.eq(list[2].text, "activations reach 2^20, f16 ends at 65504: bf16, or keep it in f32")
  model = scaled_by(0, 100, 100)
  dtype, _, list = amp.report(model, function() model(rille.ones(2, 4)) end):advice()
  t.eq({ dtype, list[1].layer, list[1].dtype }, { "bf16", "3", "f32" })
  t.eq(list[1].text, "activations hold 8 inf and 0 nan as they are: keep it in f32")
end)

t.test("reports refuse what is no model", function()
  t.error_like(function() amp.report { 3 } end, { code = "E_TYPE", message = "must be a module" })
  t.error_like(function() amp.report(nn.ReLU(), { often = 3 }) end, { code = "E_OPTION" })
  t.error_like(function() amp.report(nn.ReLU(), { every = 0 }) end, { code = "E_ARG" })
end)
