-- rille.Function: what backward gets and must give.
local rille = require "rille"
local t = require "support.test"

local function leaf(values)
  return rille.tensor(values, { dtype = "f64", requires_grad = true })
end

-- exp with its result saved, as its gradient is cheapest.
local Exp = rille.Function {
  forward = function(ctx, x)
    local y = x:exp()
    ctx:save(y)
    return y
  end,
  backward = function(ctx, d) return d * ctx:saved() end,
}

t.test("a saved result takes part in second derivatives", function()
  local x = leaf { 0.5, -1.25 }
  t.ok(rille.debugging.gradcheck(Exp, x))
  t.ok(rille.debugging.gradgradcheck(Exp, x))
  local first = rille.grad(Exp(x):sum(), x, { create_graph = true })
  local second = rille.grad(first:sum(), x, { create_graph = true })
  local third = rille.grad(second:sum(), x)
  t.near(third, { math.exp(0.5), math.exp(-1.25) }, 1e-14)
end)

t.test("one of several results saved, with an argument", function()
  local both = rille.Function {
    forward = function(ctx, x, y)
      local product, root = x * y, (x * y):sqrt()
      ctx:save(x, root, y)
      return product, root
    end,
    backward = function(ctx, dp, dr)
      local x, root, y = ctx:saved()
      local d = dp + dr / (2 * root)
      return d * y, d * x
    end,
  }
  local x, y = leaf { 0.5, 2 }, leaf { 1.5, 0.75 }
  t.ok(rille.debugging.gradcheck(both, { x, y }))
  t.ok(rille.debugging.gradgradcheck(both, { x, y }))
end)

t.test("a saved result does not keep its graph alive", function()
  local held = setmetatable({}, { __mode = "v" })
  local keep = rille.Function {
    forward = function(ctx, x)
      local y = x * 2
      ctx:save(y)
      held[1] = ctx
      return y
    end,
    backward = function(ctx, d) return d * 2 + 0 * ctx:saved() end,
  }
  do
    local x = leaf { 1 }
    local g = rille.grad(keep(x):sum(), x, { create_graph = true })
    t.eq(g:item(), 2)
  end
  for _ = 1, 3 do
    collectgarbage()
    rille.ones(1):sum()
  end
  t.eq(held[1], nil)
end)

t.test("an error in a recorded backward leaves the saved results as they were", function()
  local fails = true
  local f = rille.Function {
    forward = function(ctx, x)
      local y = x:exp()
      ctx:save(y)
      return y
    end,
    backward = function(ctx, d)
      if fails then error "stop" end
      return d * ctx:saved()
    end,
  }
  local x = leaf { 0.5 }
  local y = f(x):sum()
  local options = { create_graph = true, retain_graph = true }
  t.error_like(function() rille.grad(y, x, options) end, "stop")
  fails = false
  t.near(rille.grad(y, x), { math.exp(0.5) }, 1e-15)
end)

t.test("backward gives one gradient or nil for each tensor argument", function()
  local function product(...)
    local count, extra = select("#", ...), { ... }
    return rille.Function {
      forward = function(ctx, a, b)
        ctx:save(a, b)
        return a * b
      end,
      backward = function(ctx, d)
        local a, b = ctx:saved()
        local all = { d * b, d * a, extra[3] }
        return table.unpack(all, 1, count)
      end,
    }
  end
  local a, b = leaf { 2 }, leaf { 3 }
  t.error_like(function() product(1)(a, b):sum():backward() end,
    { code = "E_ARG", message = "1 gradient for 2 tensor arguments" })
  t.error_like(function() product()(a, b):sum():backward() end,
    { code = "E_ARG", message = "0 gradients for 2 tensor arguments" })
  t.error_like(function() product(1, 2, 3)(a, b):sum():backward() end, { code = "E_ARG" })
  product(1, 2)(a, b):sum():backward()
  t.eq({ a.grad:item(), b.grad:item() }, { 3, 2 })
  local first_only = rille.Function {
    forward = function(ctx, x, y)
      ctx:save(y)
      return x * y
    end,
    backward = function(ctx, d) return d * ctx:saved(), nil end,
  }
  local c, e = leaf { 2 }, leaf { 3 }
  first_only(c, e):sum():backward()
  t.eq(c.grad:item(), 3)
  t.eq(e.grad, nil)
end)
