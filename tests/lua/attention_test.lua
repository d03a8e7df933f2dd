-- nn.MultiheadAttention and the transformer layers against PyTorch.
--
-- The values come from torch 2.15 in f64 with batch_first = True and without dropout, on inputs and
-- parameters as support/waves.lua says.
local t = require "support.test"
local waves = require "support.waves"
local rille = require "rille"
local nn = rille.nn
local wave, flat, fill = waves.wave, waves.flat, waves.fill

local x, memory = wave({ 2, 3, 4 }, 0.3), wave({ 2, 2, 4 }, 1.3)

t.test("attention with itself, with padding, causal", function()
  local attention = fill(nn.MultiheadAttention(4, 2, { dtype = "f64" }))
  t.near(flat(attention(x)), {
    -0.5610281, -0.4838743, -0.2340711, -0.3941905, -0.5213833, -0.52123, -0.2033211, -0.4147814,
    -0.5521494, -0.4909889, -0.2295428, -0.3956093, -0.497406, -0.5441071, -0.1841878,
    -0.4279601, -0.5160351, -0.5264543, -0.1988244, -0.418031, -0.4966752, -0.5492592,
    -0.1752097, -0.4397266,
  }, 1e-6)
  local real = rille.tensor({ { true, false }, { true, true } })
  t.near(flat(attention(x, memory, memory, { padding_mask = real })), {
    -0.614798, -0.3846961, -0.3671969, -0.2425004, -0.614798, -0.3846961, -0.3671969, -0.2425004,
    -0.614798, -0.3846961, -0.3671969, -0.2425004, -0.5142896, -0.5322813, -0.1895892,
    -0.4296072, -0.5062917, -0.542761, -0.1778388, -0.4412705, -0.5347949, -0.5162517,
    -0.1992909, -0.4273545,
  }, 1e-6)
  t.near(flat(attention(x, { causal = true })), {
    -0.6411124, -0.3682367, -0.3718995, -0.2500982, -0.4975934, -0.546121, -0.1802052, -0.433451,
    -0.5521494, -0.4909889, -0.2295428, -0.3956093, -0.4647174, -0.5762064, -0.1563871,
    -0.4482496, -0.4845878, -0.5714455, -0.1454883, -0.4735488, -0.4966752, -0.5492592,
    -0.1752097, -0.4397266,
  }, 1e-6)
end)

t.test("weights on demand, with the same output", function()
  local attention = fill(nn.MultiheadAttention(4, 2, { dtype = "f64" }))
  local y, weights = attention(x, { causal = true, need_weights = true })
  t.near(flat(y), flat(attention(x, { causal = true })), 1e-12)
  t.near(flat(weights), {
    1, 0, 0, 0.4550267, 0.5449733, 0, 0.3408878, 0.2696753, 0.3894369, 1, 0, 0, 0.4675997,
    0.5324003, 0, 0.2911888, 0.401891, 0.3069202,
  }, 1e-6)
end)

t.test("a mask of floats is added to the scores, with weights, padding and a past, too", function()
  local attention = fill(nn.MultiheadAttention(4, 2, { dtype = "f64" }))
  local mask = wave({ 3, 3 }, 2)
  t.near(flat(attention(x, { mask = mask })), {
    -0.5675029, -0.4751161, -0.2441007, -0.3840485, -0.5271144, -0.5144053, -0.2104508,
    -0.4081706, -0.5449254, -0.5006489, -0.2185629, -0.4066402, -0.4877199, -0.5570851,
    -0.1694176, -0.4428156, -0.5174803, -0.5235417, -0.2028678, -0.413324, -0.5043585,
    -0.5393173, -0.1862613, -0.4288423,
  }, 1e-6)
  local y, weights = attention(x, { mask = mask, need_weights = true })
  t.near(flat(y), flat(attention(x, { mask = mask })), 1e-12)
  t.near(flat(weights), {
    0.4549917, 0.243997, 0.3010113, 0.327964, 0.3593147, 0.3127213, 0.2481661, 0.2727876,
    0.4790463, 0.4345394, 0.317224, 0.2482366, 0.3236575, 0.3396804, 0.336662, 0.2127283,
    0.408285, 0.3789867,
  }, 1e-6)
  local real = rille.tensor { { true, true, false }, { true, true, true } }
  local o = { mask = mask, padding_mask = real }
  local fused = flat(attention(x, o))
  o.need_weights = true
  y, weights = attention(x, o)
  t.near(flat(y), fused, 1e-12)
  t.eq(weights[{ 1, 1, 3 }]:item(), 0)
  y = attention(x, memory, memory, { causal = true, need_weights = true })
  t.near(flat(y), flat(attention(x, memory, memory, { causal = true })), 1e-12)
end)

t.test("keys and values of other widths", function()
  local attention = nn.MultiheadAttention(4, 2, { kdim = 3, vdim = 5, dtype = "f64" })
  local y = fill(attention)(x, wave({ 2, 2, 3 }, 1.3), wave({ 2, 2, 5 }, 2.3))
  t.near(flat(y), {
    -0.1768431, 0.04793871, 0.7776102, 0.02085059, -0.1199595, 0.001462547, 0.8083084,
    0.00947779, -0.1621246, 0.03584726, 0.7856773, 0.01773995, -0.1426437, 0.02446548, 0.7876448,
    0.02541417, -0.1551065, 0.03831308, 0.7740125, 0.03725584, -0.1325965, 0.02340344, 0.7795989,
    0.04163826,
  }, 1e-6)
end)

t.test("encoder layers", function()
  local options = { feedforward = 6, dropout = 0.0, activation = "gelu", dtype = "f64" }
  t.near(flat(fill(nn.TransformerEncoderLayer(4, 2, options))(x)), {
    -0.6314055, -0.2538543, 0.5076583, 0.5232656, -0.85108, -0.02099325, 0.5023632, 0.5507067,
    -0.6514403, -0.3403583, 0.4910709, 0.4043799, -0.8043442, 0.08249522, 0.5019878, 0.6424101,
    -0.6624502, -0.3586002, 0.4821244, 0.3591224, -0.7386078, 0.08495062, 0.5036044, 0.6824526,
  }, 1e-6)
  options.norm_first = true
  t.near(flat(fill(nn.TransformerEncoderLayer(4, 2, options))(x)), {
    0.4775467, 0.1942289, 0.2303404, -0.5514894, 0.3699694, -0.5872499, -0.7287773, -1.295537,
    0.1217449, -0.02028477, 0.1306347, -0.4159147, 0.6701071, -0.2381949, -0.627785, -1.239639,
    -0.1922277, -0.2649108, -0.2078497, -0.440537, 0.829895, 0.0815078, -0.3152359, -1.071608,
  }, 1e-6)
end)

t.test("decoder layers", function()
  local options = { feedforward = 6, dropout = 0.0, dtype = "f64" }
  local layer = fill(nn.TransformerDecoderLayer(4, 2, options))
  t.near(flat(layer(x, memory, { causal = true })), {
    -0.3769266, 0.2534287, 0.4597919, 0.6763176, -0.4688747, 0.291788, 0.4673615, 0.6673491,
    -0.420433, 0.2269469, 0.4829647, 0.671126, -0.4356224, 0.2928774, 0.4583752, 0.671092,
    -0.4456891, 0.2201614, 0.4920675, 0.667964, -0.4169063, 0.2802034, 0.4590975, 0.6728868,
  }, 1e-6)
  options.norm_first = true
  layer = fill(nn.TransformerDecoderLayer(4, 2, options))
  t.near(flat(layer(x, memory, { causal = true })), {
    0.04285301, 0.2578333, 0.4424989, 0.3631248, 0.04586103, -0.6460956, -0.4631282, -0.3508979,
    -0.3785791, 0.02935758, 0.4715603, 0.3315037, 0.3960636, -0.3540293, -0.2774425, -0.3938929,
    -0.634434, -0.3487866, 0.2865887, 0.2001323, 0.5720867, -0.04305443, 0.0476814, -0.2600302,
  }, 1e-6)
end)
