-- debugging.gradcheck finds wrong gradients and passes right ones.
local t = require "support.test"
local rille = require "rille"
local debugging = rille.debugging

local function leaf(values)
  return rille.tensor(values, { dtype = "f64", requires_grad = true })
end

t.test("right gradients pass", function()
  local x, y = leaf { 0.3, -1.2 }, leaf { { 1.0, 2.0 }, { -0.5, 0.7 } }
  t.ok(debugging.gradcheck(function(a) return (a * a):sum() end, x))
  t.ok(debugging.gradcheck(function(a, b) return a * b, a:sigmoid() end, { x, y }))
  t.ok(debugging.gradgradcheck(function(a) return a:sigmoid():sum() end, x))
  t.ok(debugging.gradgradcheck(function(a, b) return a * b * b end, { x, y }))
end)

t.test("wrong ones don't, and the place is told", function()
  local wrong = rille.Function {
    forward = function(ctx, x)
      ctx:save(x)
      return x * x
    end,
    backward = function(ctx, d) return d * ctx:saved() * 2.01 end,
  }
  local fine, why = debugging.gradcheck(wrong, leaf { 0.5, 2.0 })
  t.eq(fine, false)
  t.ok(why:find "input 1, element 1: backward gives 1.005", why)
end)

t.test("f32 is refused, and so is nothing to check", function()
  local x = rille.tensor({ 1.0 }, { requires_grad = true })
  t.error_like(function() debugging.gradcheck(function(a) return a * a end, x) end,
    { code = "E_DTYPE", message = "must be f64" })
  t.error_like(function() debugging.gradcheck(function(a) return a end, x:detach()) end,
    { message = "no input requires a gradient" })
end)

t.test("fast compares one projection", function()
  local calls = 0
  local function f(a, b)
    calls = calls + 1
    return a * b, a:sigmoid()
  end
  local x, y = leaf { 0.3, -1.2, 0.8, 2.0, -0.4, 1.1 }, leaf { 1.0, 2.0, -0.5, 0.7, 0.1, -2.0 }
  t.eq(debugging.gradcheck(f, { x, y }, { fast = true }), true)
  t.eq(calls, 1 + 2 * 3)                       -- not three an element
  t.eq(debugging.gradgradcheck(function(a) return a:sigmoid() end, x, { fast = true }), true)
  local wrong = rille.Function {
    forward = function(ctx, a)
      ctx:save(a)
      return a * a
    end,
    backward = function(ctx, d) return d * ctx:saved() * 2.1 end,
  }
  local fine, why = debugging.gradcheck(wrong, x, { fast = true })
  t.eq(fine, false)
  t.ok(why:find "input 1, in a direction: backward gives", why)
  local before = rille.get_rng_state()
  debugging.gradcheck(f, { x, y }, { fast = true })
  t.eq(rille.get_rng_state(), before)
end)

t.test("a list with an __index ends with its length", function()
  local x = leaf { 0.5, 2.0 }
  local inputs = setmetatable({}, {
    __len = function() return 1 end,
    __index = function(_, i)
      assert(i == 1, "read past the end")
      return x
    end,
  })
  t.eq(debugging.gradcheck(function(a) return a * a end, inputs), true)
  t.eq(debugging.gradgradcheck(function(a) return a * a * a end, inputs), true)
end)
