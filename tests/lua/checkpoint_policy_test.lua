-- rille.checkpointer: which results of a block's kernels are kept. Gradients are those of a plain
-- call whatever is kept.
local rille = require "rille"
local t = require "support.test"
local nn = rille.nn

local function same(a, b)
  t.eq(a.dtype, b.dtype)
  t.ok(a:eq(b):all(), "bits differ")
end

local function block(width)
  return nn.TransformerEncoderLayer(width or 32, 4,
    { feedforward = 64, causal = true, norm_first = true, dropout = 0.1 })
end

local function gradients(make, wrap, repeats)
  rille.seed(2)
  local f = make()
  local x = rille.randn(2, 8, 32, { requires_grad = true })
  local grads
  for _ = 1, repeats or 1 do
    rille.seed(5)
    grads = { rille.grad(wrap(f, x):square():sum(), { x, table.unpack(f:parameters()) }) }
  end
  return grads
end

local function plain(f, ...) return f(...) end

t.test("no policy changes a gradient", function()
  local want = gradients(block, plain)
  for _, options in ipairs {
    { policy = "full" }, { policy = "cheap" }, { policy = "alternate_mm" },
    { policy = "every_n", n = 2 }, { policy = { "linear", "scaled_dot_product_attention" } },
    { policy = { save = { "linear" } } }, { policy = { recompute = { "gelu", "relu", "add" } } },
    { policy = { offload = { "linear" }, save = { "add" } }, offload = "disk" },
    { offload = "disk" }, { policy = "budget", budget = 0.5 },
    { policy = "budget", budget = 1 << 20 },
    { policy = function() return "must_save" end },
    { policy = function(k) return k.bytes > 2000 and "prefer_save" or "prefer_recompute" end },
    { policy = function() return "must_offload" end, offload = "disk" },
    { determinism = "values" }, { determinism = "none" }, { verify_every = 2 },
  } do
    for _, repeats in ipairs { 1, 4 } do
      local got = gradients(block, (rille.checkpointer(options)), repeats)
      for i, g in ipairs(want) do same(g, got[i]) end
    end
  end
end)

t.test("what is kept does not run again", function()
  local seen = {}
  local x = rille.randn(4, 4, { requires_grad = true })
  local w = rille.randn(4, 4, { requires_grad = true })
  local function run(policy)
    seen = {}
    local y = rille.checkpointer { policy = policy }(function(a)
      local b = a:matmul(w)
      seen[#seen + 1] = b
      return b:exp()
    end, x)
    y:sum():backward()
    return seen[1], seen[2]
  end
  -- A kept result is the same memory in the second run.
  local a, b = run { "matmul" }
  rille.no_grad(function() a:fill_(7) end)
  t.eq(b[1][1]:item(), 7)
  a, b = run "full"
  rille.no_grad(function() a:fill_(7) end)
  t.ok(b[1][1]:item() ~= 7)
end)

t.test("a policy is told what each kernel made", function()
  local told = {}
  local x = rille.randn(8, 16, { requires_grad = true })
  local w = rille.randn(16, 4, { requires_grad = true })
  rille.checkpointer { policy = function(k, op)
    told[#told + 1] = k
    assert(op == k.op)
    return "must_recompute"
  end }(function(a) return a:matmul(w):exp() end, x):sum():backward()
  t.eq(#told, 2)
  t.eq(told[1].op, "matmul")
  t.eq(told[1].flops, 2 * 8 * 16 * 4)
  t.eq(told[2].op, "exp")
  t.eq(told[2].index, 2)
  t.eq(told[2].output:shape(), { 8, 4 })
  t.ok(told[2].bytes >= 8 * 4 * 4)
  t.ok(told[1].line:find "checkpoint_policy_test.lua:")
end)

t.test("what a block keeps goes to one backward, or with retain_graph to several", function()
  local function f(a) return a:exp(), a:sin():exp() end
  local keep = rille.checkpointer { policy = function() return "must_save" end }
  local x = rille.ones(3, { requires_grad = true })
  local p, q = keep(f, x)
  p:sum():backward()
  t.error_like(function() q:sum():backward() end, { code = "E_CKPT_CONSUMED" })
  x.grad = nil
  p, q = keep(f, x)
  p:sum():backward { retain_graph = true }
  q:sum():backward()
  local z = rille.ones(3, { requires_grad = true })
  local u, v = f(z)
  ;(u + v):sum():backward()
  t.near(x.grad, z.grad, 1e-6)
end)

t.test("a kept result that is written to is an error, or is given as it is", function()
  local function f(a)
    local b = a:sin()
    local c = b:exp()
    rille.no_grad(function() b:detach():add_(1) end)
    return c
  end
  local x = rille.ones(3, { requires_grad = true })
  local y = rille.checkpointer { policy = { "sin" } }(f, x):sum()
  t.error_like(function() y:backward() end, { code = "E_CKPT_MUTATED" })
  rille.checkpointer { policy = { "sin" }, allow_mutation = true }(f, x):sum():backward()
end)

t.test("another op in the second run is found where its result was kept", function()
  local again = false
  local x = rille.ones(3, { requires_grad = true })
  local y = rille.checkpointer { policy = { "sin" } }(function(a)
    local b = again and a:detach():cos() or a:detach():sin()
    return (a * b):exp()
  end, x):sum()
  again = true
  t.error_like(function() y:backward() end, { code = "E_CKPT_META" })
end)

t.test("a budget is met, and says what it chose", function()
  local layer = block()
  local x = rille.randn(2, 8, 32, { requires_grad = true })
  local last = -1
  for _, share in ipairs { 0.25, 0.5, 0.75 } do
    local run, report = rille.checkpointer { policy = "budget", budget = share }
    for _ = 1, 4 do run(layer, x):sum():backward() end
    local r = report()
    t.eq(#r, 1)
    r = r[1]
    t.ok(r.kept <= r.tape * share + x:nbytes() + 1, r.kept)
    t.eq(r.measured.kept, r.kept)
    t.ok(r.kept > last)
    last = r.kept
    local saved = 0
    for _, kernel in ipairs(r.kernels) do
      if kernel.saved then saved = saved + kernel.bytes end
      t.ok(kernel.op and kernel.seconds >= 0)
    end
    t.eq(saved + x:nbytes(), r.kept)
  end
end)

t.test("wrong policies", function()
  local x = rille.ones(3, { requires_grad = true })
  local function wrong(options, code)
    t.error_like(function()
      rille.checkpointer(options)(function(a) return a:exp() end, x):sum():backward()
    end, { code = code })
  end
  wrong({ policy = "cheapest" }, "E_OPTION")
  wrong({ policy = { "lineer" } }, "E_ARG")
  wrong({ policy = { keep = { "linear" } } }, "E_OPTION")
  wrong({ policy = function() return "maybe" end }, "E_ARG")
  wrong({ policy = function() end }, "E_ARG")
  wrong({ policy = function() return "must_offload" end }, "E_OPTION")
  wrong({ policy = "budget" }, "E_ARG")
  wrong({ budget = 0.5 }, "E_OPTION")
  wrong({ policy = "budget", budget = 0 }, "E_ARG")
  wrong({ policy = "every_n" }, "E_ARG")
  wrong({ policy = "cheap", n = 2 }, "E_OPTION")
  wrong({ offload = "tape" }, "E_TYPE")
  wrong({ offload_dir = "/" }, "E_OPTION")
  wrong({ offload = "disk", offload_dir = "/nowhere/at/all" }, "E_IO")
  wrong({ policy = "cheap", reentrant = true }, "E_OPTION")
  local tight = rille.checkpointer { policy = "budget", budget = 8 }
  local wide = rille.ones(64, { requires_grad = true })
  local f = function(a) return a:exp() end
  tight(f, wide):sum():backward()
  tight(f, wide):sum():backward()
  t.error_like(function() tight(f, wide) end, { code = "E_ARG" })
end)
