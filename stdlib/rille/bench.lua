-- `rille bench [NAME...]`: how long ops take here, called as a script calls them. One JSON object a
-- line: name, shape, threads, median_ns (of one call), repetitions. Cases are picked by hand where
-- the shape matters; any other op of one or two tensors is timed on 1024 x 1024 numbers.
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"

local sample_seconds, total_seconds, most_samples = 2e-3, 0.25, 101

-- ---- the cases: each gives a text of its shapes and the function to time

local function square(n, options)
  return rille.rand(n, n, options)
end

local function product(n, dtype)
  return function()
    local a, b = square(n):to(dtype), square(n):to(dtype)
    return ("%s[%d, %d] x 2"):format(dtype, n, n), function() return a:matmul(b) end
  end
end

local function pair(...)
  local a, b = rille.rand(...), rille.rand(...)
  return function() return a + b end
end

local function attention()
  local q, k, v = rille.rand(4, 8, 256, 64), rille.rand(4, 8, 256, 64), rille.rand(4, 8, 256, 64)
  return "f32[4, 8, 256, 64] x 3", function()
    return rille.scaled_dot_product_attention(q, k, v, { causal = true })
  end
end

local function convolution()
  local x, w = rille.rand(8, 16, 32, 32), rille.rand(32, 16, 3, 3)
  return "f32[8, 16, 32, 32] f32[32, 16, 3, 3]", function()
    return rille.conv2d(x, w, { padding = 1 })
  end
end

-- One training step of a small perceptron: forward, backward, update.
local function training_step()
  local nn = rille.nn
  local model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
  local optimizer = rille.optim.AdamW(model:parameters(), { lr = 1e-3 })
  local x, y = rille.rand(64, 784), rille.randint(0, 9, { 64 })
  return "f32[64, 784]", function()
    optimizer:zero_grad()
    rille.cross_entropy(model(x), y):backward()
    optimizer:step()
  end
end

local picked = {
  { "add", function() return "f32[1] x 2", pair(1) end },
  { "add", function() return "f32[1024, 1024] x 2", pair(1024, 1024) end },
  { "matmul", product(64, "f32") },
  { "matmul", product(256, "f32") },
  { "matmul", product(1024, "f32") },
  { "matmul", product(256, "f64") },
  { "matmul", product(512, "bf16") },
  { "conv2d", convolution },
  { "scaled_dot_product_attention", attention },
  { "layer_norm", function()
    local x, w, b = square(1024), rille.ones(1024), rille.zeros(1024)
    return "f32[1024, 1024]", function() return rille.layer_norm(x, w, b) end
  end },
  { "softmax", function()
    local x = square(1024)
    return "f32[1024, 1024]", function() return x:softmax(-1) end
  end },
  { "sum", function()
    local x = square(1024)
    return "f32[1024, 1024]", function() return x:sum() end
  end },
  { "cross_entropy", function()
    local x, y = rille.rand(256, 1000), rille.randint(0, 999, { 256 })
    return "f32[256, 1000] i64[256]", function() return rille.cross_entropy(x, y) end
  end },
  { "embedding", function()
    local ids, rows = rille.randint(0, 999, { 4096 }), rille.rand(1000, 64)
    return "i64[4096] f32[1000, 64]", function() return rille.embedding(ids, rows) end
  end },
  { "sort", function()
    local x = rille.rand(100000)
    return "f32[100000]", function() return x:sort() end
  end },
  { "rand", function() return "f32[1024, 1024]", function() return square(1024) end end },
  { "training_step", training_step },
}

-- An op of one or two tensors and nothing else that it must have.
local function plain_case(op)
  local required = {}
  for _, field in ipairs(op.fields) do
    if field.required then required[#required + 1] = field.takes end
  end
  for _, takes in ipairs(required) do
    if not takes:find "^a tensor" then return nil end
  end
  if #required < 1 or #required > 2 then return nil end
  return function()
    local x, y = square(1024), square(1024)
    local call = rille[op.name]
    if #required == 1 then return "f32[1024, 1024]", function() return call(x) end end
    return "f32[1024, 1024] x 2", function() return call(x, y) end
  end
end

-- ---- measuring

local function time_of(f, count)
  local start = native.clock()
  for _ = 1, count do f() end
  return native.clock() - start
end

-- Median nanoseconds of a call, and how often it was called.
local function measure(f)
  local count, seconds = 1, time_of(f, 1)
  while seconds < sample_seconds do
    count = count * 2
    seconds = time_of(f, count)
  end
  local times, repetitions, total = {}, 0, 0
  repeat
    seconds = time_of(f, count)
    times[#times + 1] = seconds / count
    repetitions, total = repetitions + count, total + seconds
  until total >= total_seconds and #times >= 3 or #times >= most_samples
  table.sort(times)
  return times[(#times + 1) // 2] * 1e9, repetitions
end

local function report(name, case)
  local shape, f = case()
  local median, repetitions = measure(f)
  print(native.json_encode {
    name = name, shape = shape, threads = rille.threads(),
    median_ns = math.floor(median + 0.5), repetitions = repetitions,
  })
end

-- ---- which

local function by_name()
  local ops, names = {}, {}
  for _, op in ipairs(rille.ops()) do ops[op.name], names[#names + 1] = op, op.name end
  names[#names + 1] = "training_step"
  return ops, names
end

local function run_named(name, ops, names)
  local done = false
  for _, entry in ipairs(picked) do
    if entry[1] == name then
      report(table.unpack(entry))
      done = true
    end
  end
  if done then return end
  if not ops[name] then
    fail.usage("rille bench", ("there is no op '%s'%s"):format(name, fail.suggestion(name, names)))
  end
  local case = plain_case(ops[name])
  if not case then
    fail.usage("rille bench", ("there is no benchmark of '%s'"):format(name))
  end
  report(name, case)
end

return function(...)
  local wanted = { ... }
  rille.seed(0)
  if #wanted == 0 then
    for _, entry in ipairs(picked) do report(table.unpack(entry)) end
    return
  end
  local ops, names = by_name()
  for _, name in ipairs(wanted) do run_named(name, ops, names) end
end
