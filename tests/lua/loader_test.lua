-- data: datasets, collating, the loader with and without workers, resuming in the middle of an
-- epoch.
local t = require "support.test"
local rille = require "rille"
local data = rille.data

local function numbers(n)
  return data.table { x = rille.arange(1, n), y = rille.arange(1, n) * 10 }
end

local function drain(loader, epoch)
  local list = {}
  for batch, i in loader:iter(epoch) do list[i] = batch.x:tolist() end
  return list
end

t.test("tables, subsets, maps and concatenations", function()
  local set = numbers(5)
  t.eq(#set, 5)
  t.eq(set[2].y:item(), 20)
  local mapped = data.map(set, function(item) return item.x:item() + 0.5 end)
  t.eq(mapped[3], 3.5)
  local joined = data.concat(set, numbers(2))
  t.eq(#joined, 7)
  t.eq(joined[6].x:item(), 1)
  t.eq(data.subset(set, { 4, 1 })[1].x:item(), 4)
  t.error_like(function() return set[0] end, { code = "E_INDEX" })
  t.error_like(function() return set[6] end, { message = "outside 1..5" })
  t.error_like(function() data.table { x = rille.ones(2), y = rille.ones(3) } end,
    { message = "differ in length" })
end)

t.test("split is contiguous unless shuffled, and loses nothing", function()
  local a, b = data.split(numbers(10), { 0.8, 0.2 })
  t.eq({ #a, #b }, { 8, 2 })
  t.eq(b[1].x:item(), 9)
  local c, d = data.split(numbers(10), { 7, 3 }, { shuffle = true, seed = 3 })
  local sum = 0
  for _, part in ipairs { c, d } do
    for i = 1, #part do sum = sum + part[i].x:item() end
  end
  t.eq(sum, 55)
  t.error_like(function() data.split(numbers(10), { 0.5, 0.2 }) end, { message = "add up to 0.7" })
end)

t.test("batches come in order, the last is short", function()
  local loader = data.Loader(numbers(5), { batch = 2 })
  t.eq(#loader, 3)
  t.eq(drain(loader), { { 1, 2 }, { 3, 4 }, { 5 } })
  t.eq(drain(data.Loader(numbers(5), { batch = 2, drop_last = true })), { { 1, 2 }, { 3, 4 } })
  t.eq(#data.Loader(numbers(5), { batch = 2, drop_last = true }), 2)
end)

t.test("a loader is an iterator itself, nested too", function()
  local loader, pairs_seen = data.Loader(numbers(2), {}), {}
  for a in loader do
    for b in loader do pairs_seen[#pairs_seen + 1] = a.x:item() * 10 + b.x:item() end
  end
  t.eq(pairs_seen, { 11, 12, 21, 22 })
end)

t.test("each epoch has an order of its own, and it can be asked for", function()
  local loader = data.Loader(numbers(20), { batch = 5, shuffle = true, seed = 1 })
  local first, second = drain(loader), drain(loader)
  t.ok(table.concat(first[1], " ") ~= table.concat(second[1], " "))
  t.eq(drain(loader, 1), first)
  t.eq(drain(loader, 2), second)
end)

local function noisy(workers)
  return data.Loader(numbers(10), {
    batch = 3, shuffle = true, seed = 4, workers = workers,
    transform = function(item)
      item.x = item.x:to("f32") + rille.rand(1)[1] + math.random()
      return item
    end,
  })
end

t.test("batches don't depend on the number of workers", function()
  local alone = noisy(0)
  local wanted = { drain(alone, 1), drain(alone, 2) }
  for _, workers in ipairs { 1, 3 } do
    local loader <close> = noisy(workers)
    t.eq(drain(loader, 1), wanted[1])
    t.eq(drain(loader, 2), wanted[2])
  end
end)

t.test("drawing batches leaves the script's own random numbers alone", function()
  rille.seed(9)
  math.randomseed(9)
  local wanted = rille.rand(2):tolist()
  rille.seed(9)
  drain(noisy(0), 1)
  t.eq(rille.rand(2), wanted)
end)

t.test("going on in the middle of an epoch is exact", function()
  for _, workers in ipairs { 0, 2 } do
    local whole = drain(noisy(0), 1)
    local loader <close> = noisy(workers)
    local next_batch = loader:iter(1)
    next_batch()
    next_batch()
    local resumed <close> = noisy(0)
    resumed:load_state(loader:state())
    local rest = {}
    for batch in resumed:iter() do rest[#rest + 1] = batch.x:tolist() end
    t.eq(rest, { whole[3], whole[4] })
  end
end)

t.test("a state of before the first batch goes on with the first epoch", function()
  local fresh = noisy(0)
  local state = fresh:state()
  t.eq({ state.epoch, state.batches }, { 1, 0 })
  local resumed = noisy(0)
  resumed:load_state(state)
  t.eq(drain(resumed), drain(fresh))
end)

t.test("leaving a loop early does not spoil the next", function()
  local loader <close> = data.Loader(numbers(12), { batch = 2, workers = 2, persistent = true })
  for batch in loader do
    t.eq(batch.x, { 1, 2 })
    break
  end
  t.eq(drain(loader), { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 }, { 9, 10 }, { 11, 12 } })
end)

t.test("a worker's error names the worker and the item", function()
  local loader <close> = data.Loader(numbers(6), {
    batch = 2, workers = 1,
    transform = function(item)
      if item.x:item() == 4 then error "bad item" end
      return item
    end,
  })
  local err = t.error_like(function() drain(loader) end, { code = "E_WORKER", message = "item 4" })
  t.ok(table.concat(err.facts):find "bad item")
end)

t.test("collate stacks tensors, numbers, strings, nested tables", function()
  local set = {
    { x = rille.ones(2), n = 1, name = "a", inner = { k = 1.5 } },
    { x = rille.zeros(2), n = 2, name = "b", inner = { k = 2.5 } },
  }
  local batch = data.Loader(set, { batch = 2 }):iter()()
  t.eq(batch.x, { { 1.0, 1.0 }, { 0.0, 0.0 } })
  t.eq(batch.n.dtype, "i64")
  t.eq(batch.name, { "a", "b" })
  t.eq(batch.inner.k, { 1.5, 2.5 })
end)

t.test("an item that holds itself ends in an error, here and in a worker", function()
  local function endless()
    local item = {}
    item.self = item
    return item
  end
  for _, workers in ipairs { 0, 1 } do
    local loader = data.Loader({ 1, 2 }, { batch = 2, workers = workers, transform = endless })
    local err = t.error_like(function() loader:iter()() end, {})
    t.ok(tostring(err):find "more than 64 deep")
  end
end)

t.test("unequal shapes name the items; pad_collate pads them", function()
  local set = { { x = rille.ones(2) }, { x = rille.ones(3) } }
  local loader = data.Loader(set, { batch = 2 })
  t.error_like(function() loader:iter()() end,
    { code = "E_COLLATE_SHAPE", message = "items 1 and 2" })
  local o = { batch = 2, collate = data.pad_collate { pad = -1, multiple_of = 4 } }
  local batch = data.Loader(set, o):iter()()
  t.eq(batch.x, { { 1.0, 1.0, -1.0, -1.0 }, { 1.0, 1.0, 1.0, -1.0 } })
end)

t.test("options that exclude each other", function()
  local set = numbers(4)
  local function refused(options)
    t.error_like(function() data.Loader(set, options) end, { code = "E_" })
  end
  refused { sampler = data.Sequential(set), shuffle = true }
  for name, value in pairs { batch = 2, shuffle = true, sampler = { 1 }, drop_last = true } do
    refused { batch_sampler = data.Batch(data.Sequential(set), 2), [name] = value }
  end
  refused { batch = false, drop_last = true }
  refused { prefetch = 2 }
  refused { persistent = true }
  refused { workers = -1 }
  refused { timeout = -1 }
  refused { bacth = 2 }
end)

t.test("a worker that hangs is told of and ended", function()
  for _, place in ipairs { "transform", "worker_init" } do
    local options = { workers = 2, timeout = 0.2 }
    options[place] = function() while true do end end
    t.error_like(function() for _ in data.Loader(numbers(4), options) do t.ok(false) end end,
      { code = "E_", message = "no batch within 0.2 seconds" })
  end
  local busy = { workers = 1, timeout = 0.2, transform = function()
    while true do pcall(function() while true do end end) end
  end }
  t.error_like(function() for _ in data.Loader(numbers(4), busy) do t.ok(false) end end,
    { message = "no batch within" })
  local function endless() return rille.ones(1):expand(1 << 40):sum() end
  local slow = { workers = 2, transform = endless }
  data.Loader(numbers(4), slow):iter()
end)

t.test("a sampler's epoch is the user's where it was set", function()
  local function order(sampler)
    return drain(data.Loader(numbers(8), { batch = 8, sampler = sampler }))
  end
  local sampler = data.Random(8, { seed = 2 })
  sampler:set_epoch(5)
  local fifth = order(sampler)
  local other = data.Random(8, { seed = 2 })
  t.eq(drain(data.Loader(numbers(8), { batch = 8, sampler = other }), 5), fifth)
end)

t.test("windows: in order, at random, and resumed", function()
  local ids = rille.arange(0, 20)
  local list = {}
  for batch in data.windows(ids, { length = 4, batch = 2 }) do list[#list + 1] = batch end
  t.eq(#list, 2)
  t.eq(list[2].x, { { 8, 9, 10, 11 }, { 12, 13, 14, 15 } })
  t.eq(list[2].y, { { 9, 10, 11, 12 }, { 13, 14, 15, 16 } })
  local stream = data.windows(ids, { length = 4, batch = 2, shuffle = true, seed = 1 })
  local next_batch = stream:iter()
  next_batch()
  local state, second = stream:state(), next_batch().x:tolist()
  local other = data.windows(ids, { length = 4, batch = 2, shuffle = true, seed = 1 })
  other:load_state(state)
  t.eq(other:iter()().x, second)
end)
