-- Results that no cache holds go past the caches. They have the bits of the same work in parts.
local rille = require "rille"
local t = require "support.test"

local kRows, kColumns = 2250, 4100               -- 36.9 MB of f32
local kCount = kRows * kColumns

local function same(a, b)
  t.ok(rille.equal(a, b))
end

-- Three parts of ten million numbers, none of them on a line's border.
local function each_part(run)
  local cuts = { 0, 3000001, 6000007, kCount }
  for i = 2, #cuts do run { { cuts[i - 1] + 1, cuts[i] } } end
end

t.test("pointwise results, from and into memory that is not lined up", function()
  rille.seed(1)
  local x, y = rille.randn(kCount + 1)[{ { 2, -1 } }], rille.randn(kCount)
  local sum, even = x + y, x:gt(y)
  local scaled = (x * 2):to("f64") + y:to("f64")
  each_part(function(part)
    same(sum[part], x[part] + y[part])
    same(even[part], x[part]:gt(y[part]))
    same(scaled[part], (x[part] * 2):to("f64") + y[part]:to("f64"))
  end)
  local z = x:clone()
  z:add_(y)                                                -- in place
  same(z, sum)
end)

t.test("copies", function()
  local x = rille.randn(kCount)
  local room = rille.zeros(kCount + 4)
  room[{ { 3, kCount + 2 } }]:copy_(x)
  same(room[{ { 3, kCount + 2 } }], x)
  t.eq(room[{ { 1, 2 } }]:sum():item() + room[{ { -2, -1 } }]:sum():item(), 0)
  same(x:clone(), x)
end)

t.test("rows", function()
  rille.seed(2)
  local x = rille.randn(kRows, kColumns, { requires_grad = true })
  local ids = rille.randint(0, kColumns - 1, { kRows })
  local function outputs(of, targets)
    local losses = rille.cross_entropy(of, targets, { reduction = "sum" })
    local out = { of:softmax(2), of:log_softmax(2), rille.layer_norm(of) }
    local all = losses
    for _, y in ipairs(out) do all = all + (y * y):sum() end
    out[4] = (rille.grad(all, { of }))
    return out
  end
  local whole = outputs(x, ids)
  for _, part in ipairs { { { 1, 1000 } }, { { 1001, 2250 } } } do
    local few = x:detach()[part]:requires_grad_(true)
    for i, y in ipairs(outputs(few, ids[part])) do same(whole[i]:detach()[part], y:detach()) end
  end
end)
