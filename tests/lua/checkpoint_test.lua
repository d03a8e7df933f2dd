-- rille.checkpoint: gradients are those of a plain call, to the bit; how often functions run is
-- what PyTorch 2.15's torch.utils.checkpoint (use_reentrant=False) counts.
local rille = require "rille"
local t = require "support.test"
local nn = rille.nn

local function same(a, b)
  t.eq(a.dtype, b.dtype)
  t.ok(a:eq(b):logical_or(a:isnan():logical_and(b:isnan())):all(), "bits differ")
end

-- Gradients of sum(f(x)^2) for x and the parameters, plain and with f as a block.
local function both(make, shape, wrap)
  local results = {}
  for _, blocked in ipairs { false, true } do
    rille.seed(3)
    local f, parameters = make()
    local x = rille.randn(shape, { requires_grad = true })
    local inputs = { x, table.unpack(parameters or {}) }
    local y = blocked and (wrap or rille.checkpoint)(f, x) or f(x)
    local grads = { rille.grad(y:square():sum(), inputs) }
    results[#results + 1] = { y = y, grads = grads, draw = rille.rand(3) }
  end
  same(results[1].y:detach(), results[2].y:detach())
  for i, g in ipairs(results[1].grads) do same(g, results[2].grads[i]) end
  same(results[1].draw, results[2].draw)                 -- the generator stands where it would
end

t.test("gradients of a block are those of a plain call", function()
  both(function()
    local m = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4))
    return m, m:parameters()
  end, { 5, 8 })
end)

t.test("a block runs twice: once forward, once for backward", function()
  local calls = 0
  local x = rille.ones(3, { requires_grad = true })
  local y = rille.checkpoint(function(a)
    calls = calls + 1
    return a:sin():exp()
  end, x)
  t.eq(calls, 1)
  y:sum():backward()
  t.eq(calls, 2)
end)

t.test("two backward calls run it twice more", function()
  local calls = 0
  local x = rille.ones(3, { requires_grad = true })
  local y = rille.checkpoint(function(a)
    calls = calls + 1
    return a:sin():exp()
  end, x):sum()
  y:backward { retain_graph = true }
  y:backward { retain_graph = true }
  t.eq(calls, 3)
  local z = rille.ones(3, { requires_grad = true })
  z:sin():exp():sum():backward()
  same(x.grad, z.grad * 2)
end)

t.test("the second run of an outer block comes before that of an inner one", function()
  local outer, inner = 0, 0
  local x = rille.ones(3, { requires_grad = true })
  local y = rille.checkpoint(function(a)
    outer = outer + 1
    local b = rille.checkpoint(function(c)
      inner = inner + 1
      return c:sin():exp()
    end, a:cos())
    return b:sin():exp()
  end, x)
  y:sum():backward()
  t.eq({ inner, outer }, { 3, 2 })
end)

t.test("without gradients a block is a plain call", function()
  local calls = 0
  local f = function(a)
    calls = calls + 1
    return a + 1
  end
  t.eq(rille.no_grad(rille.checkpoint, f, rille.ones(1)):item(), 2)
  t.eq(calls, 1)
end)

t.test("blocks take and give any values", function()
  local w = rille.full({ 2 }, 3.0, { requires_grad = true })
  local a, n, more, nothing = rille.checkpoint(function(x, o, flag, last)
    assert(flag == nil and last == "last")
    return { x * o.by[1], deep = { (x * w):exp() } }, 7, o.by[1] * w, nil
  end, rille.ones(2), { by = { rille.full({ 2 }, 2.0) } }, nil, "last")
  t.eq(n, 7)
  t.eq(nothing, nil)
  ;(a.deep[1]:sum() + more:sum()):backward()
  t.near(w.grad, { math.exp(3) + 2, math.exp(3) + 2 }, 1e-6)
end)

t.test("parameters get gradients where no input needs one", function()
  local m = nn.Linear(3, 2)
  rille.checkpoint(m, rille.ones(4, 3)):sum():backward()
  t.ok(m.weight.grad)
  t.eq(m.bias.grad, rille.full({ 2 }, 4.0))
end)

t.test("rille.grad and chosen inputs", function()
  local x, w = rille.ones(2, { requires_grad = true }), rille.ones(2, { requires_grad = true })
  local y = rille.checkpoint(function(a) return (a * w):exp() end, x)
  local dw = rille.grad(y:sum(), w)
  t.near(dw, { math.exp(1), math.exp(1) }, 1e-6)
  local z = rille.checkpoint(function(a) return (a * w):exp() end, x)
  z:sum():backward { inputs = { x } }
  t.ok(x.grad and not w.grad)
end)

t.test("second derivatives", function()
  local x = rille.tensor({ 0.5, 1.5 }, { dtype = "f64", requires_grad = true })
  local function inner(b) return b:sin() * b:exp() end
  local f = function(a) return rille.checkpoint(inner, a):sum() end
  t.ok(rille.debugging.gradcheck(f, x))
  t.ok(rille.debugging.gradgradcheck(f, x))
  local first = rille.grad(f(x), x, { create_graph = true })
  local second = rille.grad(first:sum(), x)
  t.near(second, (x:cos() * x:exp() * 2):detach(), 1e-12)
end)

t.test("dropout draws the same numbers again, and the generator goes on as without", function()
  both(function()
    local m = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 8), nn.Dropout(0.3))
    return m, m:parameters()
  end, { 6, 8 })
end)

t.test("so do a generator of the script's and math.random", function()
  local own = rille.generator(5)
  local values = {}
  local x = rille.ones(4, { requires_grad = true })
  local y = rille.checkpoint(function(a)
    local noise = rille.rand(4, { generator = own })
    values[#values + 1] = { noise:tolist(), math.random(1 << 30) }
    return (a * noise):exp() * noise
  end, x)
  local state = own:state()
  y:sum():backward()
  t.eq(#values, 2)
  t.eq(values[1], values[2])
  t.eq(own:state(), state)
  t.ok(math.random(1 << 30) ~= values[1][2])
end)

t.test("preserve_rng = false draws on", function()
  local values = {}
  local x = rille.ones(4, { requires_grad = true })
  rille.checkpointer { preserve_rng = false }(function(a)
    values[#values + 1] = rille.rand(1):item()
    return a:exp()
  end, x):sum():backward()
  t.ok(values[1] ~= values[2])
end)

t.test("running statistics move once", function()
  for _, make in ipairs { function() return nn.BatchNorm1d(4) end,
    function() return nn.BatchNorm1d(4, { momentum = nil, cumulative = true }) end } do
    local plain, blocked = make(), make()
    local x = rille.randn(6, 4, { requires_grad = true })
    local z = x:detach():requires_grad_()
    plain(plain(x)):square():sum():backward()
    local f = function(a) return blocked(blocked(a)) end
    rille.checkpoint(f, z):square():sum():backward()
    same(x.grad, z.grad)
    same(plain.weight.grad, blocked.weight.grad)
    same(plain.running_mean, blocked.running_mean)
    same(plain.running_var, blocked.running_var)
    t.eq(plain.num_batches_tracked:item(), blocked.num_batches_tracked:item())
  end
end)

t.test("one layer in several blocks", function()
  local plain, blocked = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
  local x = rille.randn(5, 3, { requires_grad = true })
  local z = x:detach():requires_grad_()
  plain(plain(plain(x))):square():sum():backward()
  local c = rille.checkpoint
  c(blocked, c(blocked, c(blocked, z))):square():sum():backward()
  same(x.grad, z.grad)
  same(plain.running_var, blocked.running_var)
end)

t.test("autocast is as it was, inside of the scope and out of it", function()
  for _, inside in ipairs { true, false } do
    local results = {}
    for _, wrap in ipairs { function(f, ...) return f(...) end, rille.checkpoint } do
      rille.seed(1)
      local m = nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16), nn.Linear(16, 16))
      local x = rille.randn(4, 16, { requires_grad = true })
      local y
      do
        local _ <close> = rille.amp.autocast { device = "cpu", dtype = "bf16" }
        y = wrap(m, x):float():square():sum()
        if inside then y:backward() end
      end
      if not inside then y:backward() end
      results[#results + 1] = { x.grad, m[1].weight.grad, m[2].weight.grad, m[3].bias.grad }
    end
    for i, g in ipairs(results[1]) do same(g, results[2][i]) end
  end
end)

t.test("a block may write to its input", function()
  local results = {}
  for _, wrap in ipairs { function(f, ...) return f(...) end, rille.checkpoint } do
    local x = rille.arange(1, 4, { dtype = "f32" }):requires_grad_()
    local h = x * 2
    local y = wrap(function(a)
      local b = a:exp()
      a:mul_(3)
      return (a * b):sin()
    end, h)
    y:sum():backward()
    results[#results + 1] = { x.grad, h:detach() }
  end
  same(results[1][1], results[2][1])
  same(results[1][2], results[2][2])
end)

t.test("an inner block may write to its input", function()
  local results = {}
  for _, wrap in ipairs { function(f, ...) return f(...) end, rille.checkpoint } do
    local x = rille.arange(1, 4, { dtype = "f32" }):requires_grad_()
    local y = wrap(function(a)
      local b = a * 2
      local c = wrap(function(d)
        d:mul_(3)
        return d:sin():exp()
      end, b)
      return c:exp() + b:cos()
    end, x)
    y:sum():backward()
    results[#results + 1] = x.grad
  end
  same(results[1], results[2])
end)

t.test("a value that is changed after it was saved is an error, as without", function()
  local x = rille.ones(3, { requires_grad = true })
  local y = rille.checkpoint(function(a)
    local b = a:exp()
    b:add_(1)
    return b:sin()
  end, x)
  t.error_like(function() y:sum():backward() end, { code = "E_INPLACE" })
end)

t.test("pcall in a block does not take its early end", function()
  local reached, caught = 0, 0
  local x = rille.ones(3, { requires_grad = true })
  local y = rille.checkpoint(function(a)
    local b
    local fine = pcall(function()
      b = a:exp():detach() * a:exp()
      local _ <close> = setmetatable({}, { __close = function() reached = reached + 1 end })
      b = b + 1
      b = b + 2
    end)
    if not fine then caught = caught + 1 end
    b = b + 1
    return b
  end, x)
  t.eq(reached, 1)
  y:sum():backward()
  t.eq({ reached, caught }, { 2, 0 })
  t.near(x.grad, { math.exp(1) ^ 2, math.exp(1) ^ 2, math.exp(1) ^ 2 }, 1e-5)
end)

t.test("the second run ends with the last value that is wanted", function()
  local places = {}
  local function mark(name) places[#places + 1] = name end
  local x = rille.ones(3, { requires_grad = true })
  local function f(a)
    local b = a:sin()
    mark "saved"
    b = b + 1
    mark "after"
    b = b + 1
    mark "end"
    return b
  end
  rille.checkpoint(f, x):sum():backward()
  t.eq(places, { "saved", "after", "end", "saved" })
  places = {}
  rille.checkpointer { early_stop = false }(f, x):sum():backward()
  t.eq(places, { "saved", "after", "end", "saved", "after", "end" })
end)

t.test("below a comparator the run goes on until it can end", function()
  local x = rille.ones(3, { requires_grad = true })
  local y = rille.checkpoint(function(a)
    local order = { 3, 1, 2 }
    local s
    table.sort(order, function(p, q)
      s = a:exp() * a:exp()
      return p < q
    end)
    return s + 1
  end, x)
  y:sum():backward()
  t.near(x.grad[1]:item(), 2 * math.exp(2), 1e-4)
end)

t.test("an error of the second run passes as it is, and the next backward works", function()
  local fails = false
  local x = rille.ones(3, { requires_grad = true })
  local what = setmetatable({}, {})
  local y = rille.checkpoint(function(a)
    if fails then error(what) end
    return a:exp()
  end, x):sum()
  fails = true
  local fine, err = pcall(y.backward, y, { retain_graph = true })
  t.ok(not fine and rawequal(err, what))
  fails = false
  y:backward()
  t.near(x.grad[1]:item(), math.exp(1), 1e-6)
end)

t.test("a block that yields in its first run goes on; in its second it is an error", function()
  local yields = true
  local x = rille.ones(2, { requires_grad = true })
  local co = coroutine.wrap(function()
    return rille.checkpoint(function(a)
      local b = a:exp()
      if yields then coroutine.yield "half" end
      return b:sin()
    end, x)
  end)
  t.eq(co(), "half")
  local y = co():sum()
  t.error_like(function() y:backward { retain_graph = true } end, { code = "E_STATE" })
  yields = false
  y:backward()
  t.near(x.grad[1]:item(), math.exp(1) * math.cos(math.exp(1)), 1e-5)
end)

t.test("errors tell where the runs differ", function()
  local again = false
  local x = rille.ones(3, { requires_grad = true })
  local function differing(f, options)
    again = false
    local y = rille.checkpointer(options)(f, x):sum()
    again = true
    local fine, err = pcall(y.backward, y)
    return not fine and err.code or "none", fine and "" or tostring(err)
  end
  local code, text = differing(function(a)
    return again and a:exp() or a:exp():sin()
  end)
  t.eq(code, "E_CKPT_COUNT")
  t.ok(text:find("saved 1 value, the first 2", 1, true), text)
  code, text = differing(function(a) return again and a:cos():exp() or a:sin():exp() end)
  t.eq(code, "E_CKPT_META")
  t.ok(text:find "first run    sin" and text:find "second run   cos", text)
  code = differing(function(a) return (again and a:tile(2) or a):exp() end)
  t.eq(code, "E_CKPT_META")
  local scale = 1
  code = differing(function(a) return (a * (again and 2 or scale)):exp() end)
  t.eq(code, "none")                                     -- a value is not looked at, as in PyTorch
  code, text = differing(function(a) return (a * (again and 2 or scale)):exp() end,
    { determinism = "values" })
  t.eq(code, "E_CKPT_VALUE")
  t.ok(text:find "difference", text)
  code = differing(function(a) return again and a:exp():sin():cos() or a:exp():sin() end,
    { early_stop = false })
  t.eq(code, "E_CKPT_COUNT")
  -- Caught by the function, told all the same.
  code = differing(function(a)
    local fine, b = pcall(function() return again and a:cos() or a:sin() end)
    return fine and b:exp() or a:exp()
  end)
  t.eq(code, "E_CKPT_META")
end)

t.test("what is written between the runs is found", function()
  local w = rille.ones(3, { requires_grad = true })
  local shift = rille.zeros(3)
  local x = rille.ones(3) * 2
  local f = function(a) return (a * w + shift):exp() end
  local y = rille.checkpoint(f, x):sum()
  rille.no_grad(function() w:add_(1) end)
  t.error_like(function() y:backward() end, { code = "E_CKPT_MUTATED" })
  y = rille.checkpoint(f, x):sum()
  shift:add_(1)                                          -- saved by nothing
  t.error_like(function() y:backward() end, { code = "E_CKPT_MUTATED" })
  y = rille.checkpoint(f, x):sum()
  x:add_(1)
  t.error_like(function() y:backward() end, { code = "E_CKPT_MUTATED" })
  y = rille.checkpoint(f, x):sum()
  y:backward()
end)

t.test("hooks in a block run once a backward", function()
  local seen = 0
  local x = rille.ones(3, { requires_grad = true })
  local y = rille.checkpoint(function(a)
    local b = a:exp()
    b:register_hook(function(d)
      seen = seen + 1
      return d * 2
    end)
    return b:sin()
  end, x)
  y:sum():backward()
  t.eq(seen, 1)
  t.near(x.grad[1]:item(), 2 * math.exp(1) * math.cos(math.exp(1)), 1e-5)
end)

t.test("functions with a backward of their own", function()
  local double = rille.Function {
    forward = function(ctx, a)
      ctx:save(a)
      return a:square()
    end,
    backward = function(ctx, dy) return ctx:saved() * dy * 2 end,
  }
  both(function() return function(a) return double(a:sin()):exp() end end, { 4 })
end)

t.test("what such a function saves is let go of, too", function()
  local double = rille.Function {
    forward = function(ctx, a, b)
      local y = a * b
      ctx:save(a, nil, y, b)
      return y
    end,
    backward = function(ctx, dy)
      local a, none, y, b = ctx:saved()
      assert(none == nil and y:numel() == a:numel())
      return dy * b + 0 * y, dy * a
    end,
  }
  both(function() return function(a) return double(a:sin(), a:cos()):exp() end end, { 4 })
  local x = rille.tensor({ 0.5, 1.5 }, { dtype = "f64", requires_grad = true })
  local function f(a)
    return rille.checkpoint(function(b) return double(b:sin(), b:exp()) end, a):sum()
  end
  t.ok(rille.debugging.gradgradcheck(f, x))
  local wide = rille.ones(256, 1024, { requires_grad = true })     -- 1 MiB
  collectgarbage()
  local before = rille.memory.allocated()
  local y = rille.checkpoint(function(a)
    for _ = 1, 4 do a = double(a, a) end
    return a
  end, wide)
  collectgarbage()
  t.ok(rille.memory.allocated() - before <= 1.1 * 2 ^ 20, rille.memory.allocated() - before)
  y:sum():backward()
  t.eq(wide.grad[1][1]:item(), 16)
end)

t.test("a block that goes backward inside", function()
  local w = rille.ones(2, { requires_grad = true })
  local f = function(a)
    local inner = rille.grad((a:sin() * w):sum(), a, { create_graph = true })
    return inner:exp()
  end
  local results = {}
  for _, wrap in ipairs { function(g, ...) return g(...) end, rille.checkpoint } do
    local x = rille.tensor({ 0.3, 0.7 }, { requires_grad = true })
    local dx, dw = rille.grad(wrap(f, x):sum(), { x, w })
    results[#results + 1] = { dx, dw }
  end
  same(results[1][1], results[2][1])
  same(results[1][2], results[2][2])
end)

t.test("the reentrant form", function()
  local calls = 0
  local reentrant = rille.checkpointer { reentrant = true }
  local f = function(a, s)
    calls = calls + 1
    return (a:sin() * s):exp(), a:cos()
  end
  local x, z = rille.ones(3, { requires_grad = true }), rille.ones(3, { requires_grad = true })
  local p, q = reentrant(f, x, 2)
  ;(p + q):sum():backward()
  t.eq(calls, 2)
  p, q = f(z, 2)
  ;(p + q):sum():backward()
  same(x.grad, z.grad)
  t.error_like(function() reentrant(f, rille.ones(3), 2) end, { code = "E_CKPT_NO_GRAD_INPUT" })
  p = reentrant(f, x, 2)
  t.error_like(function() rille.grad(p:sum(), x) end, { code = "E_CKPT_REENTRANT_GRAD" })
  t.error_like(function() reentrant(f, x, { by = 2 }) end, { code = "E_ARG" })
  t.error_like(function() rille.checkpointer { reentrant = true, early_stop = false } end,
    { code = "E_OPTION" })
end)

t.test("reentrant blocks inside of one another, with parameters", function()
  local reentrant = rille.checkpointer { reentrant = true }
  local a, b = nn.Linear(4, 4), nn.Linear(4, 4)
  local function f(x) return b(a(x):tanh()):tanh() end
  local results = {}
  for _, wrap in ipairs { function(g, ...) return g(...) end, reentrant } do
    a:zero_grad()
    b:zero_grad()
    local x = rille.arange(1, 12, { dtype = "f32" }):view(3, 4):requires_grad_()
    wrap(function(u) return wrap(f, u:sin()) end, x):square():sum():backward()
    results[#results + 1] = { x.grad, a.weight.grad, b.bias.grad }
  end
  for i, g in ipairs(results[1]) do same(g, results[2][i]) end
end)

t.test("checkpoint_sequential", function()
  local counts = {}
  local list = {}
  for i = 1, 7 do
    list[i] = function(x)
      counts[i] = (counts[i] or 0) + 1
      return x:sin():exp()
    end
  end
  local x, z = rille.ones(2, { requires_grad = true }), rille.ones(2, { requires_grad = true })
  rille.checkpoint_sequential(list, 3, x):sum():backward()
  t.eq(counts, { 2, 2, 2, 2, 1, 1, 1 })
  local y = z
  for i = 1, 7 do y = list[i](y) end
  y:sum():backward()
  same(x.grad, z.grad)
  t.error_like(function() rille.checkpoint_sequential(list, 0, x) end, { code = "E_ARG" })
  t.error_like(function() rille.checkpoint_sequential(list, 8, x) end, { code = "E_ARG" })
  t.eq(rille.checkpoint_sequential(list, 7, x):numel(), 2)
end)

t.test("a block lets its activations go, and backward too", function()
  local MiB = 2 ^ 20
  local function peak(wrap)
    local x = rille.ones(256, 1024, { requires_grad = true })      -- 1 MiB
    local f = function(a)
      for _ = 1, 8 do a = a:sin() end
      return a
    end
    collectgarbage()
    local before = rille.memory.allocated()
    local function forward()
      local y = x
      for _ = 1, 4 do y = wrap(f, y) end
      collectgarbage()
      return y, rille.memory.allocated() - before
    end
    local function backward()
      local y, held = forward()
      y:sum():backward()
      return held
    end
    local held = backward()
    x.grad = nil
    collectgarbage()
    return held / MiB, (rille.memory.allocated() - before) / MiB
  end
  local plain = peak(function(f, a) return f(a) end)
  local held, left = peak(rille.checkpoint)
  t.ok(plain > 30, plain)
  t.ok(held <= 5.1, held)
  t.ok(left < 0.1, left)
end)

t.test("wrong calls", function()
  local x = rille.ones(1, { requires_grad = true })
  t.error_like(function() rille.checkpoint() end, { code = "E_TYPE" })
  t.error_like(function() rille.checkpoint(3, x) end, { code = "E_TYPE" })
  t.error_like(function() rille.checkpointer { early = true } end, { code = "E_OPTION" })
  t.error_like(function() rille.checkpointer { determinism = "some" } end, { code = "E_TYPE" })
  t.error_like(function() rille.checkpointer { verify_every = 0 } end, { code = "E_ARG" })
end)
