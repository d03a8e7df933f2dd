-- t[...] and t[...] = value against positions worked out by hand.
local t = require "support.test"
local rille = require "rille"

local function grid() return rille.arange(1, 12):reshape(3, 4) end

t.test("numbers, ranges, all, last", function()
  local x = grid()
  t.eq(x[2]:tolist(), { 5, 6, 7, 8 })
  t.eq(x[-1]:tolist(), { 9, 10, 11, 12 })
  t.eq(x[{ 2, 3 }]:item(), 7)
  t.eq(x[{ { 2, 3 }, -1 }]:tolist(), { 8, 12 })
  t.eq(x[{ {}, 1 }]:tolist(), { 1, 5, 9 })
  t.eq(x[{ { 1, 2 } }]:tolist(), { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } })
end)

t.test("masks and ids, which count from 0", function()
  local x = grid()
  t.eq(x[x:gt(10)]:tolist(), { 11, 12 })
  t.eq(x[rille.tensor { 2, 0 }]:tolist(), { { 9, 10, 11, 12 }, { 1, 2, 3, 4 } })
  t.eq(#x[x:gt(99)], 0)
end)

t.test("a slice is a view, a selection is not", function()
  local x = grid()
  x[1]:fill_(0)
  t.eq(x[{ 1, {} }]:tolist(), { 0, 0, 0, 0 })
  x[x:gt(5)]:fill_(0)
  t.eq(x:sum():item(), 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12)
end)

t.test("writing by position, mask and ids", function()
  local x = grid()
  x[{ 1, 1 }] = 100
  x[{ {}, 4 }] = rille.tensor { -1, -2, -3 }
  t.eq(x[1]:tolist(), { 100, 2, 3, -1 })
  t.eq(x[{ {}, -1 }]:tolist(), { -1, -2, -3 })
  x[x:lt(0)] = 0
  t.eq(x[{ {}, 4 }]:tolist(), { 0, 0, 0 })
  x[rille.tensor { 1 }] = 7
  t.eq(x[2]:tolist(), { 7, 7, 7, 7 })
end)

t.test("gradients pass through reads and writes", function()
  local w = rille.ones(3, { requires_grad = true })
  local x = rille.zeros(2, 3)
  x[2] = w * 2
  (x[{ 2, { 1, 2 } }] * 5):sum():backward()
  t.eq(w.grad:tolist(), { 10, 10, 0 })
end)

t.test("position 0 and what lies outside are errors", function()
  local x = grid()
  t.error_like(function() return x[0] end, { code = "E_INDEX" })
  t.error_like(function() return x[4] end, { code = "E_INDEX" })
  t.error_like(function() return x[{ 1, 2, 3 }] end, { code = "E_INDEX" })
  t.error_like(function() x[{ 1, 5 }] = 0 end, { code = "E_INDEX" })
  t.error_like(function() x[1] = rille.zeros(3, { dtype = "i64" }) end, { code = "E_SHAPE" })
end)

t.test("every range sees what a loop in Lua sees", function()
  local x = rille.arange(1, 5)
  for first = 1, 5 do
    for last = 1, 7 do
      for step = 1, 6 do
        local want = {}
        for i = first, math.min(last, 5), step do want[#want + 1] = i end
        local got = x[{ { first, last, step } }]
        t.eq(#want == 0 and got:numel() or got:tolist(), #want == 0 and 0 or want)
      end
    end
  end
  t.eq(x[{ { 2, 5, math.maxinteger } }]:tolist(), { 2 })
end)

t.test("lists that were not written in order, and positions written as floats", function()
  local x = grid()
  local turned = {}
  turned[2], turned[1] = 3, 2
  t.eq(x[turned]:item(), 7)
  t.eq(x[{ { 2.0, 3 }, 1 }]:tolist(), { 5, 9 })
  t.eq(x[3.0]:tolist(), { 9, 10, 11, 12 })
  t.error_like(function() return x[2.5] end, { code = "E_TYPE" })
end)

t.test("what a range and a list may not hold", function()
  local x = grid()
  for _, index in ipairs { { { 1, 2, step = 2 } }, { { 1 } }, { { 1, 2, 1, 1 } }, { 1, dim = 2 },
    { { "1", 2 } }, { { [1] = 1, [3] = 2 } }, { { {}, 1 } } } do
    t.error_like(function() return x[index] end, { code = "E_TYPE" })
    t.error_like(function() x[index] = 0 end, { code = "E_TYPE" })
  end
  t.error_like(function() return x[{ { 1, 2, 0 } }] end, { code = "E_ARG" })
end)
