-- Where Lua and C++ meet: boxes, finalizers, callbacks, coroutines, and what Lua's own libraries
-- may not do. After each mishap the engine must work as before.
local rille = require "rille"
local native = require "rille.native"
local t = require "support.test"

-- In a stock Lua the libraries are the host's, until its prelude was asked for.
local hosted = debug.sethook ~= nil
local function library_test(name, fn)
  t.test(name, function()
    if hosted then t.skip "the host's own libraries" end
    fn()
  end)
end

-- Modes are as they were and a gradient comes out right: d(sum(w^2))/dw = 2w.
local function usable()
  t.ok(rille.is_grad_enabled(), "grad mode")
  local w = rille.tensor({ 1.0, 2.0 }, { requires_grad = true })
  ;(w * w):sum():backward()
  t.eq(w.grad:tolist(), { 2.0, 4.0 })
end

-- fn fails as error_like says, and nothing of it stays behind.
local function fails(fn, wanted)
  local err = t.error_like(fn, wanted)
  usable()
  return err
end

local function leaf()
  return rille.ones(3, { requires_grad = true })
end

local function collect()
  collectgarbage()
  collectgarbage()
end

-- ---- boxes

t.test("what is no tensor is refused by what it is", function()
  local liars = {
    io.tmpfile(), setmetatable({}, { __name = "rille.Tensor" }), coroutine.create(print), print,
    setmetatable({}, { __index = rille.ones(1) }), rille.generator(1), true, "x",
  }
  for i = 1, #liars do
    fails(function() rille.relu(liars[i]) end, { code = "E_TYPE", op = "relu" })
    fails(function() rille.cat { rille.ones(1), liars[i] } end, { code = "E_TYPE" })
  end
end)

library_test("metatables of boxes are out of reach", function()
  t.eq(getmetatable(rille.ones(1)), false)
  t.eq(getmetatable(rille.generator(1)), false)
  t.ok(not pcall(setmetatable, rille.ones(1), {}), "setmetatable on a tensor must fail")
  for _, name in ipairs { "setmetatable", "getmetatable", "getregistry", "setupvalue", "sethook",
    "upvaluejoin", "setuservalue", "setlocal" } do
    t.eq(debug[name], nil, "debug." .. name)
  end
end)

t.test("a closed box says so, and closing twice does nothing", function()
  local x = rille.ones(2)
  do
    local _ <close> = x
    local _ <close> = x
  end
  t.eq(tostring(x), "a closed tensor")
  local err = fails(function() return x + 1 end, { code = "E_TYPE" })
  t.ok(err.message:find "^'x' was closed at .*door_test%.lua:67$", err.message)
  fails(function() return x.dtype end, { message = "got a tensor that was closed at " })
  t.ok(x == x)
end)

t.test("a closed object says so", function()
  local generator = rille.generator(3)
  do
    local _ <close> = generator
  end
  fails(function() generator:seed(1) end,
    { code = "E_TYPE", message = "an object that was closed at " })
end)

t.test("boxes are counted", function()
  collect()
  local before, kept = native.live_boxes(), {}
  for i = 1, 100 do kept[i] = rille.ones(1) end
  t.eq(native.live_boxes() - before, #kept)
  kept = nil
  collect()
  t.eq(native.live_boxes() - before, 0, tostring(kept))
end)

-- ---- finalizers

t.test("a finalizer sees tensors alive or closed, never freed memory", function()
  local seen = {}
  for _ = 1, 20 do
    local first = setmetatable({}, { __gc = function(o) seen[#seen + 1] = pcall(o.use, o) end })
    first.x = rille.ones(64)
    function first:use() return self.x:sum():item() end
    local late = { x = rille.ones(64) }
    setmetatable(late, { __gc = function(o) t.eq(o.x:sum():item(), 64.0) end })
  end
  collect()
  t.eq(#seen, 20)
  usable()
end)

-- In a stock Lua tensors have finalizers, too.
t.test("a tensor that a finalizer keeps is alive or closed", function()
  local kept
  local owner = setmetatable({}, { __gc = function(o) kept = o.x end })
  owner.x = rille.ones(2) -- made after the owner, so finalized before it, if it is
  owner = nil
  collect()
  t.eq(owner, nil)
  if tostring(kept) == "a closed tensor" then
    fails(function() return kept * 2 end, { code = "E_TYPE" })
  else
    t.eq((kept * 2):tolist(), { 2, 2 })
  end
end)

-- The last bytes of a box, and of a string of the same look: tag, slot.
t.test("a string that ends like a box frees no tensor", function()
  local kept = {}
  for i = 1, 100 do kept[i] = rille.full({ 2 }, i) end
  for slot = 0, 1000 do
    for length = 8, 24 do
      local forged = ("x"):rep(length) .. ("<I4I4"):pack(0x524c4c01, slot)
      t.eq(#forged:sub(1, -2), length + 7) -- a zero byte ends every string
    end
  end
  collect()
  for i = 1, 100 do t.eq(kept[i]:tolist(), { i, i }) end
end)

t.test("finalizers that call ops disturb no call they run in", function()
  local count = 0
  local function plant()
    setmetatable({}, { __gc = function()
      count = count + 1
      local a, b = rille.ones(4):split(2, 1)
      assert(a:numel() == 2 and b:numel() == 2 and #rille.ones(3):shape() == 1)
      if count < 1000 then plant() end
    end })
  end
  plant()
  for _ = 1, 3000 do
    local a, b, c = rille.arange(1, 6):split(2, 1)
    t.eq(a:tolist(), { 1, 2 })
    t.eq(c:tolist(), { 5, 6 })
    t.eq(b:shape(), { 2 })
  end
  t.ok(count > 0, "some finalizers ran")
end)

t.test("an error in a finalizer is a warning", function()
  setmetatable({}, { __gc = function() rille.ones(2):matmul(rille.ones(3)) end })
  collect()
  usable()
end)

t.test("finalizers near the limit of C levels lose no tensor for good", function()
  collect()
  local before = native.live_boxes()
  local function deep(n)
    return (("x"):gsub("x", function()
      if n == 0 or not pcall(deep, n - 1) then
        for _ = 1, 50 do rille.ones(1) end
        collectgarbage()
      end
    end))
  end
  pcall(deep, 190)
  collect()
  t.ok(native.live_boxes() - before < 10000) -- what was lost is freed when the state closes
  usable()
end)

-- ---- closing

t.test("errors in __close handlers that touch tensors", function()
  local x = rille.ones(2)
  local function close() x:matmul(rille.ones(3, 3)) end
  fails(function()
    local _ <close> = setmetatable({}, { __close = close })
  end, { code = "E_SHAPE", op = "matmul" })
  fails(function()
    local _ <close> = setmetatable({}, { __close = close })
    error "the first"
  end, { code = "E_SHAPE" })
end)

t.test("modes end when what they are around fails", function()
  fails(function() rille.no_grad(error, "inside") end, "inside")
  fails(function()
    local _ <close> = rille.no_grad()
    error "inside"
  end, "inside")
  fails(function()
    local _ <close> = rille.inference()
    rille.ones(2):view(3)
  end, { code = "E_SHAPE" })
end)

-- ---- functions that the engine calls

t.test("gradient hooks that fail", function()
  local function with(hook)
    return function()
      local y = leaf() * 2
      y:register_hook(hook)
      y:sum():backward()
    end
  end
  fails(with(function() error "hook broke" end), "door_test.lua")
  fails(with(function() error({ code = "MINE" }) end), { code = "MINE" })
  fails(with(function() return 3 end), { code = "E_TYPE", op = "register_hook" })
  fails(with(function() return rille.ones(7) end), { code = "E_SHAPE", op = "register_hook" })
  fails(with(function() return rille.ones(3, { dtype = "f64" }) end), { code = "E_SHAPE" })
  fails(with(function(g) return g:matmul(rille.ones(9, 9)) end),
    { code = "E_SHAPE", op = "matmul" })
  fails(function() coroutine.wrap(with(coroutine.yield))() end,
    { code = "E_STATE", text = "yield" })
end)

t.test("hooks may add, remove and collect while they run", function()
  local x, calls = leaf(), 0
  local y = x * 2
  local handle
  handle = y:register_hook(function(g)
    handle:remove()
    collect()
    for _ = 1, 50 do y:register_hook(function() calls = calls + 1 end) end
    return g * 3
  end)
  y:sum():backward({ retain_graph = true })
  t.eq(x.grad:tolist(), { 6.0, 6.0, 6.0 })
  local second
  second = x:register_hook(function()
    second:remove()
    for _ = 1, 50 do x:register_hook(function() end) end
  end)
  y:sum():backward()
  t.eq(calls, 50)
  usable()
end)

t.test("a hook may run another backward", function()
  local inner, y = leaf(), leaf() * 2
  y:register_hook(function()
    rille.enable_grad(function() (inner * inner):sum():backward() end)
  end)
  y:sum():backward()
  t.eq(inner.grad:tolist(), { 2.0, 2.0, 2.0 })
end)

t.test("saved-tensor hooks that fail", function()
  local function same(x) return x end
  fails(function()
    rille.saved_tensors(function() error "pack broke" end, same, function() return leaf():exp() end)
  end, "pack broke")
  local function backward(unpack)
    local x = leaf()
    local y = rille.saved_tensors(same, unpack, function() return x * x end)
    y:sum():backward()
  end
  fails(function() backward(function() error "unpack broke" end) end, "unpack broke")
  fails(function() backward(function() return "x" end) end,
    { code = "E_TYPE", op = "saved_tensors" })
end)

t.test("a rille.Function that fails", function()
  local function of(forward, backward)
    local f = rille.Function { forward = forward, backward = backward }
    return function() f(leaf()):sum():backward() end
  end
  local function double(_, a) return a * 2 end
  local function one(_, g) return g end
  fails(of(function() error "forward broke" end, one), "forward broke")
  fails(of(double, function() error "backward broke" end), "backward broke")
  fails(of(double, function() return rille.ones(9) end), { code = "E_SHAPE", op = "Function" })
  fails(of(double, function() return "x" end), { code = "E_TYPE", op = "Function" })
  fails(function() coroutine.wrap(of(double, coroutine.yield))() end, { code = "E_STATE" })
end)

t.test("module hooks, closures and schedules that fail", function()
  local function broken() error "mine broke" end
  local before, after, back = rille.nn.Linear(2, 2), rille.nn.Linear(2, 2), rille.nn.Linear(2, 2)
  before:register_forward_pre_hook(broken)
  after:register_forward_hook(broken)
  back:register_backward_hook(broken)
  fails(function() before(rille.ones(1, 2)) end, "mine broke")
  fails(function() after(rille.ones(1, 2)) end, "mine broke")
  fails(function() back(rille.ones(1, 2)):sum():backward() end, "mine broke")
  local sgd = rille.optim.SGD(before:parameters(), { lr = 0.1 })
  fails(function() sgd:step(broken) end, "mine broke")
  fails(function() rille.optim.lr.Lambda(sgd, broken) end, "mine broke")
end)

t.test("loader functions that fail, here and in workers", function()
  local set = {}
  for i = 1, 6 do set[i] = { x = rille.ones(2) * i } end
  local function run(options)
    return function()
      options.batch = 2
      for _ in rille.data.Loader(set, options) do end
    end
  end
  for workers = 0, 2 do
    fails(run { workers = workers, transform = function() error "item broke" end }, "item broke")
    fails(run { workers = workers, collate = function() error "batch broke" end }, "batch broke")
    local function misfit(o) return o.x:matmul(rille.ones(9, 9)) end
    fails(run { workers = workers, transform = misfit }, "inner sizes differ: 2 and 9")
  end
  local seen = 0
  for _ in rille.data.Loader(set, { batch = 2, workers = 2 }) do seen = seen + 1 end
  t.eq(seen, 3)
  fails(function()
    for _ in rille.data.Loader(set, { batch = 2, workers = 2 }) do error "in the loop" end
  end, "in the loop")
end)

t.test("progress over what fails", function()
  fails(function()
    for _ in rille.progress({ 1, 2 }, "x") do error "in the loop" end
  end, "in the loop")
  fails(function()
    for _ in rille.progress(function() error "source" end, "x") do end
  end, "source")
end)

-- ---- coroutines

t.test("modes belong to a coroutine, and go with it", function()
  local co = coroutine.create(function()
    local _ <close> = rille.no_grad()
    coroutine.yield()
  end)
  coroutine.resume(co)
  usable()
  co = nil
  collect()
  usable()
  t.eq(co, nil)
end)

t.test("a coroutine that was collected leaves no trace", function()
  for _ = 1, 20 do
    coroutine.wrap(function() rille.ones(1) end)()
    collect()
    usable()
  end
end)

t.test("a hook that runs a coroutine keeps the caller's modes", function()
  local y = leaf() * 2
  local made
  y:register_hook(function()
    made = coroutine.wrap(function() return rille.is_grad_enabled() end)()
  end)
  y:sum():backward()
  t.eq(made, false) -- backward itself runs without, and a new coroutine starts with that
  usable()
end)

library_test("coroutines that close one another without end", function()
  local co
  for _ = 1, 3000 do
    local before = co
    co = coroutine.create(function()
      local _ <close> = setmetatable({}, { __close = function()
        if before then assert(coroutine.close(before)) end
      end })
      coroutine.yield()
    end)
    coroutine.resume(co)
  end
  local fine, err = coroutine.close(co)
  t.eq(fine, false)
  t.ok(tostring(err):find "too deep")
  usable()
end)

-- ---- Lua's own libraries

library_test("bytecode is refused everywhere", function()
  local code = string.dump(function() return 1 end)
  t.eq(select("#", load(code)), 2)
  t.eq(load(code), nil)
  t.eq(load(code, "x", "b"), nil)
  t.eq(load(code, "x", "bt", {}), nil)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(code)
  file:close()
  t.eq(loadfile(path), nil)
  t.eq(loadfile(path, "b"), nil)
  t.ok(not pcall(dofile, path))
  package.path, path = path .. ";" .. package.path, package.path
  t.ok(not pcall(require, "some_module_in_bytecode"))
  package.path, path = path, package.path:match "^[^;]*"
  os.remove(path)
  t.eq(load("return ...")(7), 7)
  t.eq(load("return x", "=x", "t", { x = 5 })(), 5)
end)

library_test("no C modules, no search path from the environment", function()
  t.eq(package.loadlib, nil)
  t.eq(package.cpath, nil)
  t.eq(#package.searchers, 3)
end)

library_test("a weak table keeps its metatable", function()
  local weak = setmetatable({}, { __mode = "k" })
  t.error_like(function() setmetatable(weak, {}) end, "weak table")
  t.eq(setmetatable({}, nil) ~= nil, true)
  t.error_like(function() setmetatable(1, {}) end, "table expected")
  t.error_like(function() setmetatable({}, 1) end, "table expected")
  local kept = setmetatable({}, { __metatable = "mine" })
  t.error_like(function() setmetatable(kept, {}) end, "protected")
end)

library_test("os.exit is an error that a host can stop", function()
  if require "rille.host".is_stock then t.skip "os.exit stays the host's" end
  local err = t.error_like(function() os.exit(5) end, { kind = "exit", code = "E_EXIT" })
  t.eq(err.status, 5)
  t.eq(t.error_like(function() os.exit(true) end, { kind = "exit" }).status, 0)
  t.eq(t.error_like(function() os.exit(false) end, { kind = "exit" }).status, 1)
end)
