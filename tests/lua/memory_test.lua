-- What rille.memory tells, what closes and scopes free, how the collector follows the bytes of
-- tensors, and that a script goes on after an error for want of memory.
local rille = require "rille"
local t = require "support.test"

local memory = rille.memory
local MiB = 2 ^ 20

local function collect()
  collectgarbage()
  collectgarbage()
end

-- The most bytes of tensors that fn() held beyond those of before.
local function peak_of(fn)
  collect()
  memory.reset_peak()
  local before = memory.allocated()
  fn()
  return memory.peak() - before
end

-- fn() with no more than `bytes` beyond what is held now.
local function limited(bytes, fn)
  collect()
  memory.limit(memory.allocated() + bytes)
  local _ <close> = setmetatable({}, { __close = function() memory.limit(0) end })
  return fn()
end

-- ---- figures

t.test("allocated counts what tensors hold, views nothing", function()
  collect()
  local before = memory.allocated()
  local x <close> = rille.zeros(1000)
  t.eq(memory.allocated() - before, 4000)
  local y <close> = x:view(10, 100)
  t.eq(memory.allocated() - before, 4000)
end)

t.test("peak is the most there was since reset_peak", function()
  t.eq(peak_of(function()
    do local _ <close> = rille.empty(3 * MiB, { dtype = "u8" }) end
    do local _ <close> = rille.empty(2 * MiB, { dtype = "u8" }) end
  end), 3 * MiB)
end)

t.test("stats has them all; what is reserved covers what is allocated", function()
  local s = memory.stats()
  t.eq(s.allocated, memory.allocated())
  t.eq(s.reserved, memory.reserved())
  t.ok(s.peak >= s.allocated and s.allocations > 0, "stats")
end)

t.test("snapshot tells who holds the memory, views and gradients too", function()
  local x = rille.ones(777, 3, { requires_grad = true })
  local look <close> = x:detach():view(-1)
  ;(x * x):sum():backward()
  collect()
  local of_x, of_gradient, before = 0, 0, math.huge
  for _, h in ipairs(memory.snapshot()) do
    t.ok(h.bytes <= before, "the largest first")
    before = h.bytes
    local same = h.shape[1] == 777 or h.shape[1] == 2331
    if same and h.gradient then of_gradient = of_gradient + h.bytes end
    if same and not h.gradient then of_x = of_x + h.bytes end
  end
  t.eq({ of_x, of_gradient }, { 777 * 3 * 4, 777 * 3 * 4 })
end)

-- ---- freeing at a known point

t.test("a tensor that is declared <close> is freed at the end of its block", function()
  collect()
  local before = memory.allocated()
  do
    local x <close> = rille.zeros(1000)
    t.eq(memory.allocated() - before, 4000)
  end
  t.eq(memory.allocated(), before)
end)

t.test("a scope frees at its end what was made in it, on errors too", function()
  collect()
  local before = memory.allocated()
  local kept <close> = rille.scope(function()
    local x = rille.ones(1000)
    return x:sum()
  end)
  t.eq(memory.allocated() - before, 4)
  t.ok(not pcall(rille.scope, function()
    local x = rille.ones(1000)
    error(x:sum():item())
  end), "the error passes")
  t.eq(memory.allocated() - before, 4)
end)

t.test("zero_grad frees gradients that clipping and steps have looked at", function()
  local w = rille.ones(1000, { requires_grad = true })
  local optimizer = rille.optim.SGD({ w }, { lr = 0.1 })
  collect()
  local before = memory.allocated()
  do
    local loss <close> = w:sum()
    loss:backward()
  end
  local norm <close> = rille.nn.clip_grad_norm_({ w }, 1.0)
  rille.nn.clip_grad_value_({ w }, 1.0)
  optimizer:step()
  optimizer:zero_grad()
  t.eq(memory.allocated() - before, 4) -- the norm
end)

t.test("backward frees what the tape kept, though the script looked at all of it", function()
  local layers, width = 40, 2 ^ 18 -- 1 MiB each
  local w = rille.ones(width, { requires_grad = true })
  local function forward()
    local x = w
    for _ = 1, layers do x = x * x:sigmoid() end -- two values kept a layer
    return x:sum()
  end
  local function step()
    forward():backward()
    w.grad = nil
  end
  for _ = 1, 3 do step() end
  local most = peak_of(function() for _ = 1, 8 do step() end end)
  t.ok(most <= 1.1 * 2 * layers * MiB, ("%.0f MiB for %d layers"):format(most / MiB, layers))
end)

-- ---- the collector follows the bytes

t.test("dropped tensors stay few, whatever the script's heap", function()
  local heap = {}
  for i = 1, 30000 do heap[i] = { i } end
  local live = {}
  for i = 1, 64 do live[i] = rille.empty(MiB) end -- 256 MiB, which nothing writes to
  local more = peak_of(function() for _ = 1, 1000 do rille.empty(MiB) end end)
  t.ok(more <= 64 * MiB, ("%.0f MiB of dropped tensors"):format(more / MiB))
  t.eq(#live + #heap, 30064)
end)

t.test("tensors that grew old before they were dropped are found as well", function()
  local model = {}
  local function replace() for i = 1, 20 do model[i] = rille.empty(MiB) end end
  replace()
  local more = peak_of(function() for _ = 1, 100 do replace() end end)
  t.ok(more <= 160 * MiB, ("%.0f MiB beside %d"):format(more / MiB, 4 * #model))
end)

t.test("Lua's own heap stays small where small things grow old", function()
  collect()
  local ring, before, most = {}, collectgarbage "count", 0
  for i = 1, 60000 do
    ring[i % 2000] = { x = rille.ones(4), text = ("x"):rep(2000) .. i }
    if i % 1000 == 0 then most = math.max(most, collectgarbage "count") end
  end
  local grown = (most - before) / 1024
  t.ok(grown <= 48, ("%.0f MiB of Lua's heap"):format(grown))
  t.eq(#ring, 1999)
end)

t.test("a script that stops the collector does not stop these collections", function()
  collectgarbage "stop"
  local more = peak_of(function() for _ = 1, 1000 do rille.empty(MiB) end end)
  collectgarbage "restart"
  t.ok(more <= 64 * MiB, ("%.0f MiB of dropped tensors"):format(more / MiB))
end)

-- ---- want of memory

t.test("an error for want of memory has a code and says who holds how much", function()
  limited(8 * MiB, function()
    local x <close> = rille.empty(MiB)
    local err = t.error_like(function() rille.empty(2 * MiB) end,
      { code = "E_OOM_BUDGET", op = "empty", kind = "memory" })
    local text = tostring(err)
    t.ok(text:find("asking 8.00 MiB", 1, true), text)
    t.ok(text:find("f32[1048576]", 1, true), text)
  end)
end)

t.test("garbage is collected before memory is refused", function()
  limited(8 * MiB, function() for _ = 1, 100 do rille.empty(MiB) end end)
end)

t.test("the script goes on after it", function()
  local w = rille.ones(1000, { requires_grad = true })
  limited(8 * MiB, function()
    local kept = {}
    t.ok(not pcall(function() for i = 1, 10 do kept[i] = rille.empty(MiB) end end), "refused")
    t.eq(#kept, 2)
    kept[1], kept[2] = nil, nil
    t.eq(rille.ones(MiB):sum():item(), MiB)
    ;(w * w):sum():backward()
    t.eq(w.grad:sum():item(), 2000)
  end)
  t.error_like(function() rille.empty(2 ^ 45) end, { code = "E_OOM" })
  t.eq(rille.ones(10):sum():item(), 10)
end)

t.test("a limit is a number or a text with a unit; 0 takes it away", function()
  t.eq(memory.limit(), nil)
  t.eq(memory.limit "3GiB", 3 * 2 ^ 30)
  t.eq(memory.limit(0), nil)
  t.error_like(function() memory.limit "much" end, { code = "E_ARG" })
  t.error_like(function() memory.limit(-1) end, { code = "E_ARG" })
end)
