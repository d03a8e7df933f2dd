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

t.test("requires_grad_ gives the tensor itself", function()
  local x = rille.tensor { 1.0 }
  t.ok(rawequal(x:requires_grad_(), x))
  t.eq(x.requires_grad, true)
  t.eq(x:requires_grad_(false).requires_grad, false)
end)
