-- rille.use_deterministic: every bit of results and gradients is the same for 1, 2 and 4 threads,
-- at sizes at which kernels share their work out. Without it the bits are those of the last run
-- with as many threads.
local rille = require "rille"
local t = require "support.test"
local nn = rille.nn

-- What each case computes, from tensors that it makes; gradients of what `p` marks are compared.
local function marked(list)
  return function(...)
    local x = rille.randn(...):requires_grad_()
    list[#list + 1] = x
    return x
  end
end

-- Modules give their own parameters.
local function owned(list, module)
  for _, parameter in module:named_parameters() do list[#list + 1] = parameter end
  return module
end

local cases = {
  matmul = function(p) return p(301, 257):matmul(p(257, 299)) end,
  ["wide matmul"] = function(p) return p(700, 33):matmul(p(33, 900)) end,
  ["deep matmul"] = function(p) return p(9, 30000):matmul(p(30000, 11)) end,
  ["batched matmul"] = function(p) return p(40, 65, 33):matmul(p(40, 33, 70)) end,
  ["matrix by vector"] = function(p) return p(900, 700):matmul(p(700)) end,
  ["vector by matrix"] = function(p) return p(7000):matmul(p(7000, 90)) end,
  ["dot product"] = function(p) return p(200000):dot(p(200000)) end,
  linear = function(p) return rille.linear(p(513, 130), p(257, 130), p(257)) end,
  conv1d = function(p) return rille.conv1d(p(5, 17, 700), p(30, 17, 5), p(30), { padding = 2 }) end,
  conv2d = function(p) return rille.conv2d(p(16, 9, 25, 25), p(20, 9, 3, 3), p(20)) end,
  ["grouped conv2d"] = function(p)
    return rille.conv2d(p(9, 24, 20, 20), p(24, 1, 3, 3), p(24), { groups = 24, stride = 2 })
  end,
  conv3d = function(p) return rille.conv3d(p(3, 4, 9, 10, 11), p(8, 4, 3, 3, 3)) end,
  conv_transpose2d = function(p)
    return rille.conv_transpose2d(p(6, 16, 13, 13), p(16, 12, 3, 3), p(12), { stride = 2 })
  end,
  attention = function(p)
    return rille.scaled_dot_product_attention(p(3, 4, 150, 24), p(3, 4, 150, 24), p(3, 4, 150, 24),
      { causal = true, dropout = 0.1 })
  end,
  embedding = function(p)
    return rille.embedding(rille.randint(0, 49, { 3000 }), p(50, 40))
  end,
  scatter_add = function(p)
    return p(900, 60):scatter_add(1, rille.randint(0, 8, { 5000, 60 }), p(5000, 60))
  end,
  index_add = function(p)
    return p(900, 60):index_add(1, rille.randint(0, 8, { 5000 }), p(5000, 60))
  end,
  gather = function(p) return p(50, 2000):gather(1, rille.randint(0, 49, { 90, 2000 })) end,
  ["rows by ids"] = function(p) return p(40, 300)[rille.randint(0, 39, { 2000 })] end,
  layer_norm = function(p) return rille.layer_norm(p(3000, 70), p(70), p(70)) end,
  rms_norm = function(p) return rille.rms_norm(p(3000, 70), p(70)) end,
  batch_norm = function(_, list)
    return owned(list, nn.BatchNorm2d(16))(rille.randn(12, 16, 30, 30))
  end,
  group_norm = function(_, list)
    return owned(list, nn.GroupNorm(4, 16))(rille.randn(12, 16, 30, 30))
  end,
  cross_entropy = function(p)
    return rille.cross_entropy(p(4000, 65), rille.randint(0, 64, { 4000 }))
  end,
  softmax = function(p) return p(500, 130):softmax(-1) * p(500, 130):log_softmax(1) end,
  sums = function(p)
    local x = p(300, 40, 17)
    return x:sum(), x:mean(1), x:sum(2), x:var(3), x:norm(), x:logsumexp({ 1, 2 }), x:prod(3)
  end,
  ["broadcast sums"] = function(p) return p(1, 90, 1) * p(300, 1, 7) + p(90, 7) end,
  extremes = function(p) return (p(200, 300):max(1)), p(90000):max(), (p(90000):sort(1)) end,
  scans = function(p) return p(50, 3000):cumsum(2), p(3000, 50):cumsum(1), p(90000):cumsum(1) end,
  pooling = function(p)
    local x = p(8, 6, 40, 40)
    return rille.max_pool2d(x, 3, { stride = 2 }), rille.avg_pool2d(x, 2)
  end,
  interpolate = function(p)
    return rille.interpolate(p(4, 6, 30, 30), { size = { 47, 53 }, mode = "bilinear" })
  end,
  dropout = function(p)
    return rille.dropout(p(90000), 0.3), rille.rand(90001), rille.randn(90001)
  end,
  pointwise = function(p)
    local x = p(1000, 91)
    return x:t():exp() * rille.gelu(x:t()) + x:t():tanh()
  end,
  lstm = function(_, list) return (owned(list, nn.LSTM(20, 70))(rille.randn(12, 40, 20))) end,
  gru = function(_, list) return (owned(list, nn.GRU(20, 70))(rille.randn(12, 40, 20))) end,
}

-- Results and gradients.
local function all_of(case)
  rille.seed(7)
  local list = {}
  local results = { case(marked(list), list) }
  local loss = 0
  for i, y in ipairs(results) do
    if y.requires_grad then loss = loss + (y * (y + i)):sum() end
  end
  loss:backward()
  for _, x in ipairs(list) do results[#results + 1] = x.grad end
  for i, y in ipairs(results) do results[i] = y:detach() end
  return results
end

-- Zeros of both signs are told apart by what they do to 1.
local function same_bits(a, b)
  if #a ~= #b then return false end
  for i, x in ipairs(a) do
    if not rille.equal(x, b[i]) or not rille.equal(1 / x, 1 / b[i]) then return false end
  end
  return true
end

local names = {}
for name in pairs(cases) do names[#names + 1] = name end
table.sort(names)

for _, name in ipairs(names) do
  t.test(name .. ": the same bits with 1, 2 and 4 threads", function()
    local before = rille.threads()
    rille.use_deterministic(true)
    rille.threads(1)
    local alone = all_of(cases[name])
    for _, n in ipairs { 2, 4 } do
      rille.threads(n)
      t.ok(same_bits(all_of(cases[name]), alone), n .. " threads")
    end
    rille.use_deterministic(false)
    local free = all_of(cases[name])
    t.ok(same_bits(all_of(cases[name]), free), "a second run, not deterministic")
    rille.threads(before)
  end)
end

-- Steps of training, whose clipping and sums go over all parameters.
local function trained(threads)
  rille.threads(threads)
  rille.seed(3)
  local model = nn.Sequential(nn.Linear(300, 400), nn.LayerNorm(400), nn.GELU(), nn.Dropout(0.1),
    nn.Linear(400, 90))
  local optimizer = rille.optim.AdamW(model:parameters(), { lr = 0.01 })
  for _ = 1, 3 do
    optimizer:zero_grad()
    rille.cross_entropy(model(rille.randn(200, 300)), rille.randint(0, 89, { 200 })):backward()
    nn.clip_grad_norm_(model:parameters(), 0.5)
    optimizer:step()
  end
  local list = {}
  for _, p in model:named_parameters() do list[#list + 1] = p:detach() end
  return list
end

t.test("trained weights are the same bits with 1, 2 and 4 threads", function()
  local before = rille.threads()
  rille.use_deterministic(true)
  local one, two, four = trained(1), trained(2), trained(4)
  rille.use_deterministic(false)
  rille.threads(before)
  t.ok(same_bits(two, one), "2 threads")
  t.ok(same_bits(four, one), "4 threads")
end)

t.test("the mode is the interpreter's, not a coroutine's", function()
  local seen
  local other = coroutine.create(function()
    while true do
      coroutine.yield(rille.backends.deterministic)
    end
  end)
  coroutine.resume(other)
  rille.use_deterministic(true)
  seen = select(2, coroutine.resume(other))
  rille.use_deterministic(false)
  t.eq(seen, true)
  t.eq(select(2, coroutine.resume(other)), false)
end)
