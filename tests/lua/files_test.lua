-- rille.save and rille.load: what comes back, mapped and copied.
local t = require "support.test"
local rille = require "rille"

local function temporary(fn)
  local path = os.tmpname()
  local ok, problem = pcall(fn, path)
  os.remove(path)
  os.remove(path .. ".lock")
  assert(ok, problem)
end

local function state()
  return {
    weight = rille.arange(1, 12, { dtype = "f32" }):reshape(3, 4),
    mask = rille.tensor { true, false, true },
    half = rille.tensor({ 0.5, -2 }, { dtype = "bf16" }),
    empty = rille.zeros(0, 3),
    step = 7,
    list = { rille.tensor { 1, 2 }, "two" },
  }
end

local function check(got)
  local want = state()
  for _, name in ipairs { "weight", "mask", "half" } do
    t.eq(got[name]:tolist(), want[name]:tolist())
    t.eq(got[name].dtype, want[name].dtype)
  end
  t.eq(got.empty:numel(), 0)
  t.eq(got.step, 7)
  t.eq(got.list[1]:tolist(), { 1, 2 })
  t.eq(got.list[2], "two")
end

t.test("mapped and copied tensors hold what was saved", function()
  temporary(function(path)
    rille.save(path, state())
    check(rille.load(path))
    check(rille.load(path, { mmap = true }))
    check(rille.load(path, { mmap = false }))
  end)
end)

t.test("mapped tensors can be trained, and outlive the file, which stays as it was", function()
  temporary(function(path)
    rille.save(path, state())
    local weight = rille.load(path, { mmap = true }).weight
    weight:mul_(2)
    t.eq(weight[3]:tolist(), { 18, 20, 22, 24 })
    check(rille.load(path, { mmap = true }))
    local kept = rille.load(path, { mmap = true }).weight
    os.remove(path)
    collectgarbage()
    t.eq(kept:sum():item(), 78)
    kept:requires_grad_(true)
    local optimizer = rille.optim.SGD({ kept }, { lr = 1 })
    kept:sum():backward()
    optimizer:step()
    t.eq(kept[1]:tolist(), { 0, 1, 2, 3 })
  end)
end)

t.test("mmap is true or false", function()
  temporary(function(path)
    rille.save(path, state())
    t.error_like(function() rille.load(path, { mmap = "yes" }) end, { code = "E_TYPE" })
  end)
end)
