-- Gradients through blocks are those of plain calls, to the bit: modules and functions that were
-- chosen to hurt.
local rille = require "rille"
local t = require "support.test"
local nn = rille.nn

local function bits(a, b, what)
  t.eq(a.dtype, b.dtype)
  t.ok(a:eq(b):logical_or(a:isnan():logical_and(b:isnan())):all(), what .. " differs")
end

local shape2, shape3, shape4 = { 6, 8 }, { 2, 5, 8 }, { 2, 4, 6, 6 }

local tied = function()
  local a = nn.Linear(8, 8)
  return nn.Sequential(a, nn.Tanh(), a, nn.Tanh(), a)
end

local doubled = rille.Function {
  forward = function(ctx, x)
    local y = x:exp()
    ctx:save(x, y)
    return y
  end,
  backward = function(ctx, dy)
    local x, y = ctx:saved()
    return dy * y + 0 * x
  end,
}

local checkpoint = rille.checkpoint

-- { name, input shape, make() -> function or module }
local cases = {
  { "linear and gelu", shape2, function()
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
  end },
  { "dropout", shape2, function()
    return nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.ReLU(), nn.Dropout(0.1))
  end },
  { "dropout2d", shape4, function()
    return nn.Sequential(nn.Conv2d(4, 4, 3), nn.Dropout2d(0.5))
  end },
  { "alpha dropout", shape2, function()
    return nn.Sequential(nn.Linear(8, 8), nn.SELU(), nn.AlphaDropout(0.2))
  end },
  { "rrelu", shape2, function() return nn.Sequential(nn.Linear(8, 8), nn.RReLU()) end },
  { "batch norm 1d", shape2, function()
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU())
  end },
  { "batch norm 2d", shape4, function()
    return nn.Sequential(nn.Conv2d(4, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
  end },
  { "batch norm in eval", shape2, function()
    return nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8):eval())
  end },
  { "instance norm with statistics", shape4, function()
    return nn.InstanceNorm2d(4, { track_running_stats = true, affine = true })
  end },
  { "group norm", shape4, function() return nn.GroupNorm(2, 4) end },
  { "rms norm and silu", shape2, function()
    return nn.Sequential(nn.RMSNorm(8), nn.SiLU(), nn.Linear(8, 8))
  end },
  { "attention with dropout", shape3, function()
    local m = nn.MultiheadAttention(8, 2, { dropout = 0.3 })
    return setmetatable({ parameters = function() return m:parameters() end },
      { __call = function(_, x) return (m(x, x, x)) end })
  end },
  { "transformer layer", shape3, function()
    return nn.TransformerEncoderLayer(8, 2, { feedforward = 16, causal = true, dropout = 0.2 })
  end },
  { "lstm", shape3, function()
    local m = nn.LSTM(8, 8, { layers = 2, dropout = 0.3 })
    return setmetatable({ parameters = function() return m:parameters() end },
      { __call = function(_, x) return (m(x)) end })
  end },
  { "gru", shape3, function()
    local m = nn.GRU(8, 8)
    return setmetatable({ parameters = function() return m:parameters() end },
      { __call = function(_, x) return (m(x)) end })
  end },
  { "residual convolutions", shape4, function()
    local a, b = nn.Conv2d(4, 4, 3, { padding = 1 }), nn.Conv2d(4, 4, 3, { padding = 1 })
    local n = nn.BatchNorm2d(4)
    return setmetatable({ parameters = function() return { a.weight, b.weight, n.weight } end },
      { __call = function(_, x) return (x + n(b(a(x):relu()))):relu() end })
  end },
  { "max pool and upsampling", shape4, function()
    return nn.Sequential(nn.Conv2d(4, 4, 3, { padding = 1 }), nn.MaxPool2d(2),
      nn.Upsample { scale_factor = 2 })
  end },
  { "transposed convolution", shape4, function() return nn.ConvTranspose2d(4, 4, 3) end },
  { "tied weights", shape2, tied },
  { "weight norm", shape2, function() return nn.utils.weight_norm(nn.Linear(8, 8)) end },
  { "spectral norm", shape2, function() return nn.utils.spectral_norm(nn.Linear(8, 8)) end },
  { "in place on a result", shape2, function() return function(x)
    local y = x * 2
    y:add_(x)
    return y:sin():mul_(3)
  end end },
  { "in place through a view", shape2, function() return function(x)
    local y = x:exp() * 1
    y[2] = y[1] * 2
    return y:sin()
  end end },
  { "views", shape2, function()
    return function(x) return x:t():reshape(4, 12):select(1, 2):exp() * x:sum() end
  end },
  { "indexing", shape2, function()
    return function(x) return x[{ { 2, 4 }, {} }]:exp():sum(1) * x[1] end
  end },
  { "sorting", shape2, function() return function(x) return (x:sort(-1)) * x:exp() end end },
  { "a function with a backward of its own", shape2, function()
    return function(x) return doubled(x:sin()) * x end
  end },
  { "a hook", shape2, function() return function(x)
    local y = x:exp()
    y:register_hook(function(d) return d * 3 end)
    return y:sin()
  end end },
  { "a detached part", shape2, function()
    return function(x) return x:exp() * x:sin():detach() end
  end },
  { "no_grad inside", shape2, function() return function(x)
    local scale = rille.no_grad(function() return x:abs():max() end)
    return (x / scale):exp()
  end end },
  { "random numbers by hand", shape2, function()
    return function(x) return (x + rille.randn_like(x) * 0.1):exp() * math.random() end
  end },
  { "blocks in blocks, three deep", shape2, function()
    local a, b, c = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
    local d = nn.Dropout(0.2)
    local function third(x) return d(c(x:tanh())):tanh() end
    local function second(x) return checkpoint(third, b(x):tanh()) * x end
    return setmetatable({ parameters = function() return { a.weight, b.weight, c.weight } end },
      { __call = function(_, x) return checkpoint(second, a(x):tanh()):exp() end })
  end },
  { "a block's gradient inside", shape2, function() return function(x)
    local g = rille.grad(x:pow(3):sum(), x, { create_graph = true })
    return g:exp() * 0.01
  end end },
  { "embedding bag", shape2, function()
    local e = nn.Embedding(20, 8)
    return setmetatable({ parameters = function() return e:parameters() end },
      { __call = function(_, x) return e(rille.arange(0, 5)) * x end })
  end },
  { "softmax and losses", shape2, function() return function(x)
    return rille.cross_entropy(x, rille.tensor { 1, 2, 3, 4, 5, 6 }) * x:softmax(-1)
  end end },
}

local function run(case, wrap, autocast)
  rille.seed(11)
  math.randomseed(11)
  local f = case[3]()
  local x = rille.randn(case[2], { requires_grad = true })
  local y
  do
    local _ <close> = rille.amp.autocast { device = "cpu", dtype = "bf16", enabled = autocast }
    y = wrap(f, x)
    y = wrap(f, y:numel() == x:numel() and y:dim() == x:dim() and y or x)
  end
  local inputs = { x }
  if type(f) == "table" then
    for _, p in ipairs(f:parameters()) do inputs[#inputs + 1] = p end
  end
  local grads = { rille.grad(y:float():square():sum(), inputs, { allow_unused = true }) }
  local state = {}
  if type(f) == "table" and f.state_dict then
    for name, value in pairs(f:state_dict()) do state[name] = value:detach():clone() end
  end
  return y:detach(), grads, state, rille.rand(2), math.random(1 << 40)
end

local count = 0
for _, case in ipairs(cases) do
  for _, autocast in ipairs { false, true } do
    count = count + 1
    t.test(case[1] .. (autocast and " under autocast" or ""), function()
      local y, grads, state, draw, lua = run(case, function(f, x) return f(x) end, autocast)
      for _, wrap in ipairs { checkpoint, (rille.checkpointer { determinism = "values" }),
        (rille.checkpointer { policy = "cheap" }) } do
        local z, same, after, next_draw, next_lua = run(case, wrap, autocast)
        bits(y, z, "the result")
        t.eq(#same, #grads)
        for i, g in ipairs(grads) do bits(g, same[i], "gradient " .. i) end
        for name, value in pairs(state) do bits(value, after[name], name) end
        bits(draw, next_draw, "the generator")
        t.eq(lua, next_lua)
      end
    end)
  end
end

t.test("there are at least thirty of them", function() t.ok(count >= 60) end)
