-- Layers against PyTorch: convolutions that pad otherwise, running statistics, bags, pads.
--
-- The values come from torch 2.15 in f64, on inputs and parameters as support/waves.lua says.
local t = require "support.test"
local waves = require "support.waves"
local rille = require "rille"
local nn = rille.nn
local wave, flat, fill = waves.wave, waves.flat, waves.fill

local function ids(values) return rille.tensor(values, { dtype = "i64" }) end

local padded = {
  zeros = {
    0.4943904, 0.8131756, 1.225805, 1.350647, 0.9556969, 0.5875607, 0.2435983, 0.16048,
    -0.1575095, -0.5305361, -0.4948129, -0.1233259,
  },
  reflect = {
    0.9950499, 0.9838336, 1.225805, 1.350647, 1.362046, 1.274561, -0.4132445, -0.155457,
    -0.1575095, -0.5305361, -0.5795948, -0.4936703,
  },
  replicate = {
    0.6238944, 0.8757758, 1.225805, 1.350647, 1.28566, 1.22012, 0.1698316, 0.1040507, -0.1575095,
    -0.5305361, -0.58863, -0.4987913,
  },
  circular = {
    0.9954385, 0.9460877, 1.225805, 1.350647, 0.9954385, 0.9460877, -0.4649045, -0.1765358,
    -0.1575095, -0.5305361, -0.4649045, -0.1765358,
  },
}

t.test("convolutions pad as padding_mode says", function()
  for mode, want in pairs(padded) do
    local conv = nn.Conv1d(2, 2, 3, { padding = 2, padding_mode = mode, dtype = "f64" })
    t.near(flat(fill(conv)(wave({ 1, 2, 4 }, 0.3))), want, 1e-6, mode)
  end
  local same = nn.Conv2d(1, 1, { 2, 3 }, {
    padding = "same", padding_mode = "circular", dilation = { 1, 2 }, dtype = "f64",
  })
  t.near(flat(fill(same)(wave({ 1, 1, 3, 4 }, 0.3))), {
    1.126355, 1.219731, 0.9523677, 1.219525, -0.04755655, -0.3112285, 0.1854678, -0.2206444,
    0.4072316, 0.6203177, 0.3028617, 0.5178581,
  }, 1e-6)
  local strided = nn.Conv2d(1, 1, { 3, 2 }, {
    padding = { 1, 2 }, stride = 2, padding_mode = "reflect", dtype = "f64",
  })
  t.near(flat(fill(strided)(wave({ 1, 1, 3, 4 }, 0.3))), {
    0.5725787, 0.513524, 0.5698933, 0.5725787, 0.5432214, 0.394977, 0.5493076, 0.5432214,
  }, 1e-6)
end)

t.test("batch norm counts its batches and can average them all alike", function()
  local norm = nn.BatchNorm1d(2, { cumulative = true, dtype = "f64" })
  t.eq(norm.num_batches_tracked.dtype, "i64")
  for k = 0, 2 do norm(wave({ 4, 2 }, k) * (k + 1)) end
  t.eq(norm.num_batches_tracked:item(), 3)
  t.near(flat(norm.running_mean), { -0.03268282, -0.0840052 }, 1e-6)
  t.near(flat(norm.running_var), { 0.7689961, 0.6949799 }, 1e-6)
  norm:eval()
  norm(wave({ 4, 2 }, 0))
  t.eq(norm.num_batches_tracked:item(), 3)
  t.ok(norm:state_dict().num_batches_tracked, "is saved")
  t.eq(nn.BatchNorm1d(2, { track_running_stats = false }).num_batches_tracked, nil)
end)

t.test("bags of embeddings", function()
  local largest = nn.EmbeddingBag(5, 2, { mode = "max", padding = 1, dtype = "f64" })
  t.eq(flat(largest.weight[2]), { 0, 0 })
  fill(largest)
  local best = largest(ids { 0, 1, 4, 2, 1, 1 }, ids { 0, 3, 4 })
  t.near(flat(best), { 0.4207355, 0.4958324, -0.3059289, -0.4887651, 0, 0 }, 1e-6)
  local options = { mode = "sum", include_last_offset = true, dtype = "f64" }
  local sum = fill(nn.EmbeddingBag(5, 2, options))
  local y = sum(ids { 0, 1, 4, 2, 1, 1 }, ids { 0, 3, 3, 6 }, wave({ 6 }, 2))
  t.near(flat(y), { 0.2435538, 0.1755419, 0, 0, -0.1621924, 0.1822831 }, 1e-6)
  local loss = (y * y):sum()
  loss:backward()
  t.near(flat(sum.weight.grad), {
    0.2214628, 0.1596198, 0.3800936, -0.235169, 0.1327184, -0.1491581, 0, 0, -0.062238,
    -0.04485816,
  }, 1e-6)
  local mean = nn.EmbeddingBag(5, 2)
  local bags = ids { { 0, 3 }, { 4, 4 } }
  t.near(mean(bags), mean.weight:index_select(1, bags:flatten())
    :view(2, 2, 2):mean(2):tolist(), 1e-6)
end)

t.test("bags tell wrong offsets", function()
  local bag = nn.EmbeddingBag(5, 2)
  t.error_like(function() bag(ids { 1, 2 }, ids { 1 }) end,
    { code = "E_ARG", op = "embedding_bag", message = "'offsets' must rise from 0" })
  t.error_like(function() bag(ids { 1, 2 }) end, { code = "E_SHAPE", message = "[bags, n]" })
  t.error_like(function() bag(ids { { 1, 5 } }) end, { code = "E_INDEX" })
end)

t.test("distances, similarities, normalisation over channels", function()
  local one = nn.PairwiseDistance(1, { keepdim = true })
  t.near(flat(one(wave({ 2, 3 }, 0.3), wave({ 2, 3 }, 1.3))), { 0.6500737, 1.087587 }, 1e-6)
  local norm = nn.LocalResponseNorm(3, { alpha = 0.5, beta = 0.6, k = 2.0 })
  t.near(flat(norm(wave({ 1, 4, 3 }, 0.3))), {
    0.09682886, 0.2751478, 0.321698, 0.2187458, 0.01346716, -0.1981514, -0.3165316, -0.2860811,
    -0.1210874, 0.1014414, 0.2753949, 0.3218864,
  }, 1e-6)
  local bilinear = fill(nn.Bilinear(2, 3, 2, { dtype = "f64" }))
  local y = bilinear(wave({ 2, 2 }, 0.3), wave({ 2, 3 }, 1.3))
  t.near(flat(y), { 0.4303239, 0.3852253, 0.3675943, 0.09866264 }, 1e-6)
  t.near(flat(nn.Softmin(2)(wave({ 2, 3 }, 0.3))), {
    0.4053244, 0.3084971, 0.2861784, 0.2338439, 0.3210494, 0.4451068,
  }, 1e-6)
end)

t.test("padding layers", function()
  local x = rille.arange(1, 3):view(1, 1, 3)
  t.eq(flat(nn.ReflectionPad1d(2)(x)), { 3, 2, 1, 2, 3, 2, 1 })
  t.eq(flat(nn.ReplicationPad1d({ 1, 2 })(x)), { 1, 1, 2, 3, 3, 3 })
  t.eq(flat(nn.CircularPad1d(1)(x)), { 3, 1, 2, 3, 1 })
  t.eq(flat(nn.ConstantPad1d(1, 7)(x)), { 7, 1, 2, 3, 7 })
  t.eq(nn.ZeroPad2d({ 1, 0, 2, 0 })(rille.ones(1, 1, 2, 2)):shape(), { 1, 1, 4, 3 })
  t.eq(tostring(nn.ZeroPad2d(1)), "ZeroPad2d({1, 1, 1, 1})")
end)

t.test("channels to pixels, larger images, patches, dims split and joined", function()
  t.eq(nn.PixelShuffle(2)(rille.ones(1, 8, 2, 3)):shape(), { 1, 2, 4, 6 })
  t.eq(nn.PixelUnshuffle(2)(rille.ones(1, 2, 4, 6)):shape(), { 1, 8, 2, 3 })
  t.eq(nn.Upsample { scale_factor = { 2, 2 } }(rille.ones(1, 1, 2, 3)):shape(), { 1, 1, 4, 6 })
  t.eq(nn.UpsamplingBilinear2d { size = { 4, 6 } }(rille.ones(1, 1, 2, 3)):shape(), { 1, 1, 4, 6 })
  local patches = nn.Unfold(2)(rille.ones(1, 3, 4, 4))
  t.eq(patches:shape(), { 1, 12, 9 })
  t.eq(nn.Fold({ 4, 4 }, 2)(patches):shape(), { 1, 3, 4, 4 })
  t.eq(nn.Unflatten(2, { 3, 4 })(rille.ones(2, 12)):shape(), { 2, 3, 4 })
  t.eq(nn.Flatten()(rille.ones(2, 3, 4)):shape(), { 2, 12 })
end)

t.test("random slopes of RReLU stay within their limits, and are one when evaluating", function()
  local layer = nn.RReLU(0.1, 0.3)
  local x = rille.randn(200)
  local slopes = (layer(x) / x)[x:lt(0)]
  t.ok(slopes:min():item() >= 0.1 and slopes:max():item() <= 0.3 and slopes:std():item() > 0.01)
  t.near(layer:eval()(rille.tensor { -1.0, 2.0 }), { -0.2, 2.0 }, 1e-6)
end)

t.test("gumbel_softmax draws categories with their probabilities", function()
  rille.seed(3)
  local p = rille.tensor { 0.1, 0.3, 0.6 }
  local logits = p:log():expand(20000, 3)
  local hard = rille.gumbel_softmax(logits, 0.5, true)
  t.eq(hard:sum(-1):min():item(), 1)
  t.near(hard:mean(1), p:tolist(), 0.01)
  local x = rille.zeros(4, 3, { requires_grad = true })
  rille.gumbel_softmax(x, 1, true)[{ {}, 1 }]:sum():backward()
  t.ok(x.grad:abs():sum():item() > 0, "the soft result's gradient")
end)

t.test("rotary embedding: products depend on distances alone", function()
  local q, k = wave({ 1, 8 }, 0.3):expand(6, 8), wave({ 1, 8 }, 1.1):expand(6, 8)
  for _, interleaved in ipairs { false, true } do
    local o = { interleaved = interleaved }
    local s = rille.rotary_embedding(q, o):matmul(rille.rotary_embedding(k, o):t())
    for i = 1, 5 do t.near(s[{ i, i + 1 }]:item(), s[{ 1, 2 }]:item(), 1e-10) end
    o.inverse = true
    t.near(rille.rotary_embedding(rille.rotary_embedding(q, { interleaved = interleaved }), o),
      q:tolist(), 1e-12)
  end
  -- By hand: pair 1 of 2 turns by the position, pair 2 by a hundredth of it.
  local x = rille.tensor({ { 1, 2, 3, 4 } }, { dtype = "f64" })
  local y = rille.rotary_embedding(x, { offset = 5 })
  local c, s = math.cos(5), math.sin(5)
  t.near(y[{ 1, 1 }]:item(), c - 3 * s, 1e-12)
  t.near(y[{ 1, 3 }]:item(), 3 * c + s, 1e-12)
  t.near(y[{ 1, 2 }]:item(), 2 * math.cos(0.05) - 4 * math.sin(0.05), 1e-12)
end)
