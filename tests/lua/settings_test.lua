-- rille.device, backends, use_deterministic, strict, info, scope, and data.csv.
local rille = require "rille"
local native = require "rille.native"
local t = require "support.test"

t.test("device: new tensors are made there inside the scope", function()
  do
    local _ <close> = rille.device "cpu:1"
    t.eq(rille.ones(1).device, "cpu:1")
    rille.device("meta", function() t.eq(rille.ones(1).device, "meta") end)
    t.eq(rille.ones(1).device, "cpu:1")
  end
  t.eq(rille.ones(1).device, "cpu")
  t.error_like(function() rille.device("cpu:1", error, "inside") end, "inside")
  t.eq(rille.default_device(), "cpu")
  t.error_like(function() rille.device "tpu" end, "'tpu' is no device")
  t.eq(rille.device("cpu:1", function(a) return a, rille.ones(1).device end, 7), 7)
end)

t.test("backends: settings that know their values", function()
  t.eq(rille.backends.deterministic, false)
  rille.backends.benchmark = true
  t.eq(rille.backends.benchmark, true)
  t.error_like(function() rille.use_deterministic(true) end, { code = "E_CONFLICT" })
  rille.backends.benchmark = false
  rille.use_deterministic()
  t.eq(rille.backends.deterministic, true)
  t.error_like(function() rille.backends.benchmark = true end, { code = "E_CONFLICT" })
  rille.backends.deterministic = false
  t.error_like(function() rille.backends.benchmrk = true end, "did you mean 'benchmark'")
  t.error_like(function() return rille.backends.nothing end, { code = "E_OPTION" })
  t.error_like(function() rille.backends.matmul_precision = "best" end, "'highest'")
end)

-- A layer of each kind, forward and backward, as one number that shows any differing bit.
local function bits(threads)
  rille.threads(threads)
  rille.seed(3)
  local x = rille.rand(8, 3, 24, 24, { requires_grad = true })
  local w, v = rille.rand(16, 3, 3, 3), rille.rand(16 * 22 * 22, 32)
  local h = rille.conv2d(x, w):flatten(2):matmul(v):softmax(-1)
  local a = rille.rand(300, 257):matmul(rille.rand(257, 301))
  ;(h * h):sum():backward()
  return { h:tolist(), x.grad:flatten():tolist(), a:flatten():tolist(), a:sum():item() }
end

t.test("deterministic: the same bits for any number of threads", function()
  local before = rille.threads()
  rille.use_deterministic(true)
  local one, two, three = bits(1), bits(2), bits(3)
  rille.use_deterministic(false)
  rille.threads(before)
  t.eq(two, one)
  t.eq(three, one)
end)

t.test("strict: new globals inside functions are errors", function()
  rille.strict()
  t.error_like(load "return function() fresh = 1 end"(), "'fresh' would be a new global")
  load "top_level = 1" ()
  t.eq(rawget(_G, "top_level"), 1)
  rille.strict(false)
  load "return function() fresh = 2 end"()()
  t.eq(rawget(_G, "fresh"), 2)
  rawset(_G, "fresh", nil)
  rawset(_G, "top_level", nil)
end)

t.test("info has what the shell prints", function()
  local info = rille.info()
  t.eq(info.rille, rille.version)
  t.eq(tonumber(info.ops), #rille.ops())
end)

t.test("scope: what was made inside is freed at its end, what is kept stays", function()
  local outer = rille.ones(2)
  local before = native.live_boxes()
  local kept, gone, parameter
  do
    local scope <close> = rille.scope()
    gone = rille.ones(3)
    kept = scope:keep(gone * 2)
    parameter = rille.ones(1, { requires_grad = true })
    outer:add_(1)
  end
  t.eq(tostring(gone), "a closed tensor")
  t.eq(kept:tolist(), { 2, 2, 2 })
  t.eq(parameter:tolist(), { 1 })
  t.eq(outer:tolist(), { 2, 2 })
  t.eq(native.live_boxes() - before, 2)
  t.error_like(function() return gone + 1 end,
    { message = "'x' was freed by the scope that ended at " })
end)

t.test("scope: the function form keeps results, also in tables", function()
  local inside
  local a, list = rille.scope(function(x)
    inside = x * 5
    return inside + 1, { b = { x * 2 } }
  end, rille.ones(1))
  t.eq(tostring(inside), "a closed tensor")
  t.eq(a:item(), 6.0)
  t.eq(list.b[1]:item(), 2.0)
  t.error_like(function() rille.scope(error, "inside") end, "inside")
end)

t.test("scope: one inside another", function()
  local first, second
  rille.scope(function()
    local inner = rille.scope()
    first = inner:keep(rille.ones(1))
    second = rille.ones(1)
    local _ <close> = inner
  end)
  t.eq(tostring(first), "a closed tensor")
  t.eq(tostring(second), "a closed tensor")
end)

t.test("scope: another coroutine's tensors are not ours to free", function()
  local theirs
  local co = coroutine.wrap(function()
    theirs = rille.ones(1)
    coroutine.yield()
  end)
  rille.scope(function() co() end)
  t.eq(theirs:item(), 1.0)
end)

t.test("scope: training inside one, with state that outlives it", function()
  local model, optimizer
  rille.scope(function()
    model = rille.nn.Sequential(rille.nn.Linear(4, 4), rille.nn.BatchNorm1d(4))
    optimizer = rille.optim.AdamW(model:parameters(), { lr = 0.01 })
  end)
  for _ = 1, 3 do
    local _ <close> = rille.scope()
    optimizer:zero_grad()
    model(rille.rand(8, 4)):square():mean():backward()
    optimizer:step()
  end
  t.eq(optimizer.step_count, 3)
  t.eq(model(rille.rand(8, 4)):shape(), { 8, 4 })
end)

t.test("data.csv: columns of numbers are tensors, others lists", function()
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write('n,x,name\n1,0.5,"a, b"\n2,1.5,c\n')
  file:close()
  local set = rille.data.csv(path)
  t.eq(#set, 2)
  t.eq(set.columns.n.dtype, "i64")
  t.eq(set.columns.x:tolist(), { 0.5, 1.5 })
  t.eq(set[1].name, "a, b")
  local plain = rille.data.csv(path, { header = false })
  t.eq(plain[1].column1, "n")
  t.error_like(function() rille.data.csv(path, { separator = "ab" }) end, "one character")
  os.remove(path)
end)

t.test("data.tokens: ids of every width", function()
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(string.pack("<I2I2I2", 1, 65535, 3))
  file:close()
  t.eq(rille.data.tokens(path):tolist(), { 1, 65535, 3 })
  t.eq(rille.data.tokens(path, { dtype = "u8" }):numel(), 6)
  t.error_like(function() rille.data.tokens(path, { dtype = "u32" }) end, "no whole number of ids")
  t.error_like(function() rille.data.tokens(path, { dtype = "f32" }) end, { code = "E_DTYPE" })
  os.remove(path)
end)

t.test("'..' joins along the first dim", function()
  t.eq((rille.ones(1) .. rille.zeros(2)):tolist(), { 1, 0, 0 })
end)

t.test("options of a wrong type are errors", function()
  local x = rille.ones(1, { requires_grad = true })
  t.error_like(function() rille.tensor({ 1 }, { dtype = 5 }) end, "'dtype' must be a string")
  t.error_like(function() rille.tensor({ 1 }, { requires_grad = 1 }) end, "true or false")
  t.error_like(function() rille.ones(1, { requires_grad = 1 }) end, "true or false")
  t.error_like(function() x:to { copy = 3 } end, "'copy' must be true or false, got a number")
  t.error_like(function() x:backward { retain_graph = 1 } end, "'retain_graph' must be true")
  t.error_like(function() rille.no_grad(3) end, "'fn' must be a function")
end)
