-- Scopes of modes, functions with gradients of their own, hooks of tensors.
local t = require "support.test"
local rille = require "rille"

local function leaf()
  return rille.tensor({ 1.0, 2.0 }, { requires_grad = true })
end

t.test("no_grad ends with its block, on errors and with its function", function()
  local x = leaf()
  do
    local _ <close> = rille.no_grad()
    t.eq((x * 2).requires_grad, false)
    rille.enable_grad(function() t.eq((x * 2).requires_grad, true) end)
  end
  t.eq((x * 2).requires_grad, true)
  t.eq(rille.no_grad(function(a, b) return (a * b).requires_grad, b end, x, 3), false)
  pcall(rille.no_grad, error, "stop")
  for _ = 1, 2 do
    local _ <close> = rille.no_grad()
    break
  end
  t.eq((x * 2).requires_grad, true)
end)

t.test("a scope that is collected unclosed restores its mode and warns with its line", function()
  local said = {}
  local warned = warn
  warn = function(text) said[#said + 1] = text end -- luacheck: ignore
  rille.no_grad()
  collectgarbage()
  collectgarbage()
  warn = warned -- luacheck: ignore
  t.eq(rille.is_grad_enabled(), true)
  t.ok(said[1] and said[1]:find "modes_test.lua:%d+: a scope of rille.no_grad", said[1])
end)

t.test("a Function has the gradient that its backward gives", function()
  local scale = rille.Function {
    forward = function(ctx, x, factor, y)
      ctx:save(x, y)
      ctx.factor = factor
      t.eq(ctx.needs, { true, false })
      return x * y * factor, factor
    end,
    backward = function(ctx, d)
      local _, y = ctx:saved()
      return d * y * ctx.factor, nil
    end,
  }
  local x = leaf()
  local y, factor = scale(x, 3, rille.tensor { 5.0, 7.0 })
  t.eq(factor, 3)
  t.eq(y, { 15.0, 42.0 })
  y:sum():backward()
  t.eq(x.grad, { 15.0, 21.0 })
  t.error_like(function() rille.Function { forward = print } end,
    { message = "'backward' must be" })
end)

t.test("a Function's backward can be differentiated", function()
  local square = rille.Function {
    forward = function(ctx, x)
      ctx:save(x)
      return x * x
    end,
    backward = function(ctx, d) return d * ctx:saved() * 2 end,
  }
  local x = leaf()
  local first = rille.grad(square(x):sum(), x, { create_graph = true })
  t.eq(first, { 2.0, 4.0 })
  t.eq(rille.grad(first:sum(), x), { 2.0, 2.0 })
end)

t.test("hooks see, change and end", function()
  local x = leaf()
  local y = x * 3
  local handle = y:register_hook(function(d) return d * 10 end)
  y:sum():backward()
  t.eq(x.grad, { 30.0, 30.0 })
  x.grad = nil
  local z = x * 3
  z:register_hook(function(d) return d * 10 end):remove()
  z:sum():backward()
  t.eq(x.grad, { 3.0, 3.0 })
  handle:remove()
end)

t.test("saved tensors pass through the hooks", function()
  local x, packed, unpacked = leaf(), 0, 0
  local y = rille.saved_tensors(function(s)
    packed = packed + 1
    return { s }
  end, function(kept)
    unpacked = unpacked + 1
    return kept[1]
  end, function() return x * x end)
  y:sum():backward()
  t.ok(packed > 0 and unpacked == packed)
  t.eq(x.grad, { 2.0, 4.0 })
end)

local function same(...) return ... end

-- The second derivatives of a product, a power, an op that saves its result, and a leaf's view, by
-- hand: what a hook gives back takes part in them as what was saved would have.
t.test("unpacked values take part in gradients of gradients", function()
  local x = rille.tensor({ 0.5, 2.0 }, { dtype = "f64", requires_grad = true })
  local function second(f)
    local y = rille.saved_tensors(same, same, f)
    local first = rille.grad(y:sum(), x, { create_graph = true })
    return rille.grad(first:sum(), x)
  end
  t.near(second(function() return x * x * x end), { 3.0, 12.0 }, 1e-12)
  t.near(second(function() return x ^ 4 end), { 3.0, 48.0 }, 1e-12)
  t.near(second(function() return x:exp() end), { math.exp(0.5), math.exp(2.0) }, 1e-12)
  local curve = { -9 * math.sin(1.5), -9 * math.sin(6.0) }
  t.near(second(function() return (x * 3):sin() end), curve, 1e-12)
  t.near(second(function() local v = x:view(2, 1) return v * v:t() end), { 4.0, 4.0 }, 1e-12)
end)

-- A scope packs what an inner one keeps: here the outer one keeps halves, the inner one doubles.
t.test("what an inner hook keeps passes through the outer one", function()
  local x, order = leaf(), {}
  local function note(name, f)
    return function(kept) order[#order + 1] = name return f(kept) end
  end
  local y = rille.saved_tensors(
    note("pack outer", function(s) return { half = s / 2 } end),
    note("unpack outer", function(kept) return kept.half * 2 end),
    function()
      return rille.saved_tensors(
        note("pack inner", function(s) return { "x", { s * 2 } } end),
        note("unpack inner", function(kept) return kept[2][1] / 2 end),
        function() return x:exp() end)
    end)
  t.eq(order, { "pack inner", "pack outer" })
  y:sum():backward()
  t.eq(order, { "pack inner", "pack outer", "unpack outer", "unpack inner" })
  t.near(x.grad, { math.exp(1.0), math.exp(2.0) }, 1e-6)
end)

t.test("what an outer hook gives back must be like what the inner one kept", function()
  local x = leaf()
  local y = rille.saved_tensors(same, function() return rille.zeros(3) end, function()
    return rille.save_on_cpu(function() return x * x end)
  end)
  t.error_like(function() y:sum():backward() end, { code = "E_SHAPE", op = "saved_tensors" })
end)

t.test("requires_grad_ gives the tensor itself", function()
  local x = rille.tensor { 1.0 }
  t.ok(rawequal(x:requires_grad_(), x))
  t.eq(x.requires_grad, true)
  t.eq(x:requires_grad_(false).requires_grad, false)
end)

-- ---- inference

local function refused(f, message)
  t.error_like(f, { kind = "state", code = "E_INFERENCE", message = message })
end

t.test("what inference makes may not be saved for a gradient", function()
  local w = leaf()
  local x, made, seen = rille.inference(function()
    return w * 2, rille.tensor { 3.0, 4.0 }, w:view(2, 1)
  end)
  t.eq({ x.requires_grad, x:is_inference(), made:is_inference() }, { false, true, true })
  t.eq({ w:is_inference(), seen:is_inference() }, { false, false })    -- a view of what was before
  for _, inside in ipairs { x, made, x:detach(), x:view(2, 1):view(2), x[{ { 1, 2 } }] } do
    t.eq(inside:is_inference(), true)
    refused(function() return w * inside end, "can't be saved for a gradient")
  end
  refused(function() return rille.cross_entropy(w:view(1, 2), rille.inference(function()
    return rille.tensor { 1 }
  end)) end, "can't be saved for a gradient")
end)

t.test("it may be used where no value of it is kept, and in copies", function()
  local w = leaf()
  local x = rille.inference(function() return rille.tensor { 3.0, 4.0 } end)
  t.eq(rille.grad((w + x):sum(), w), { 1, 1 })
  t.eq((x * 2):is_inference(), false)
  t.eq(rille.grad((w * x:clone()):sum(), w), { 3, 4 })
  t.eq(rille.no_grad(function() return w * x end), { 3, 8 })
  x:add_(1)
  t.eq(x, { 4, 5 })
end)

t.test("it requires no gradient outside, and takes none in place", function()
  local w = leaf()
  local x = rille.inference(function() return rille.tensor { 3.0, 4.0 } end)
  refused(function() x:requires_grad_() end, "can't require gradients")
  refused(function() rille.nn.Parameter(x) end, "can't require gradients")
  refused(function() x:add_(w) end, "can't take a value that needs a gradient")
  refused(function() x[1] = w[1] end, "can't take a value that needs a gradient")
  t.eq(x, { 3, 4 })
  local parameter = rille.inference(function() return rille.tensor({ 1.0 }):requires_grad_() end)
  refused(function() return parameter + 1 end, "can't take part in gradients")
end)

t.test("a model built inside answers there, and is refused a gradient outside", function()
  local model, x = nil, rille.ones(1, 2)
  rille.inference(function()
    model = rille.nn.Linear(2, 1)
    t.eq(model(x).requires_grad, false)
  end)
  refused(function() model(x) end, "can't")
  t.eq(rille.no_grad(model, x).requires_grad, false)
end)

t.test("enable_grad records nothing inside of inference", function()
  local w = leaf()
  local _ <close> = rille.inference()
  rille.enable_grad(function() t.eq((w * 2).requires_grad, false) end)
end)

t.test("a Function saves none either", function()
  local w = leaf()
  local x = rille.inference(function() return rille.tensor { 3.0, 4.0 } end)
  local product = rille.Function {
    forward = function(ctx, a, b)
      ctx:save(b)
      return a * b
    end,
    backward = function(ctx, d) return d * ctx:saved() end,
  }
  refused(function() return product(w, x) end, "can't be saved for a gradient")
  t.eq(rille.no_grad(product, w, x), { 3, 8 })
end)

t.test("a Function saves tensors, and gives no more gradients than it has arguments", function()
  local function with(save, ...)
    local gradients = table.pack(...)
    return rille.Function {
      forward = function(ctx, a, b)
        if save then ctx:save(a, save) end
        return a + b
      end,
      backward = function(_, d)
        return d, d, table.unpack(gradients, 1, gradients.n)
      end,
    }
  end
  local a, b = leaf(), leaf()
  t.error_like(function() with(5)(a, b) end,
    { code = "E_TYPE", op = "save", message = "argument 2 must be a tensor or nil, got 5" })
  t.error_like(function() with(nil, a)(a, b):sum():backward() end,
    { code = "E_ARG", op = "Function", message = "gave 3 gradients for 2 tensor arguments" })
  with(nil, nil)(a, b):sum():backward()
  t.eq({ a.grad:tolist(), b.grad:tolist() }, { { 1, 1 }, { 1, 1 } })
end)

-- ---- detect_anomaly

local detect = rille.debugging.detect_anomaly

local function root_of_zero(factor)
  local x = rille.zeros(1, { requires_grad = true })
  return (x:sqrt() * factor):sum()           -- the slope at 0 is infinite, 0 times that is a nan
end

t.test("detect_anomaly looks for nans, for infinities if asked", function()
  local function backward(factor) root_of_zero(factor):backward() end
  t.error_like(function() detect(backward, 0) end, { code = "E_ANOMALY_NAN", op = "sqrt" })
  detect(backward, 1)
  t.error_like(function() detect({ check_inf = true }, backward, 1) end,
    { code = "E_ANOMALY_INF", op = "sqrt", message = "made an infinity in the gradient" })
  detect({ check_nan = false }, backward, 0)
  t.error_like(function() detect({ check_nan = false, check_inf = true }, backward, 1) end,
    { code = "E_ANOMALY_INF" })
  do
    local _ <close> = detect { check_inf = true }
    t.error_like(function() backward(1) end, { code = "E_ANOMALY_INF" })
    detect(backward, 1)                      -- its own options, and those of around it after
    t.error_like(function() backward(1) end, { code = "E_ANOMALY_INF" })
  end
  backward(0)
  t.error_like(function() detect { check_infs = true } end,
    { code = "E_OPTION", message = "did you mean 'check_inf'" })
  t.error_like(function() detect { check_inf = 1 } end,
    { message = "'check_inf' must be a boolean" })
end)

t.test("infinities of both signs are no nan", function()
  local x = rille.zeros(2, { requires_grad = true })
  local y = x:sqrt() * rille.tensor { 1.0, -1.0 }
  detect(function() y:sum():backward() end)
  t.eq(x.grad, { math.huge, -math.huge })
end)
