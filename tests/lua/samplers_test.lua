-- Samplers: orders, shares of ranks (PyTorch's DistributedSampler), buckets of like length.
local t = require "support.test"
local data = require "rille".data

local function collect(sampler, epoch)
  local list = {}
  for position in sampler:iter(epoch) do list[#list + 1] = position end
  return list
end

local function sorted(list)
  local copy = table.move(list, 1, #list, 1, {})
  table.sort(copy)
  return copy
end

local function shares(n, world, options)
  local all = {}
  for rank = 0, world - 1 do
    local o = { shuffle = false, rank = rank, world_size = world }
    for name, value in pairs(options or {}) do o[name] = value end
    local sampler = data.DistributedSampler(n, o)
    all[rank + 1] = collect(sampler)
    t.eq(#sampler, #all[rank + 1])
  end
  return all
end

t.test("a random order is a permutation, another each epoch, the same each time", function()
  local sampler = data.Random(50, { seed = 3 })
  local first, second = collect(sampler, 1), collect(sampler, 2)
  t.eq(collect(sampler, 1), first)
  t.ok(table.concat(first, " ") ~= table.concat(second, " "))
  for i, position in ipairs(sorted(second)) do t.eq(position, i) end
end)

t.test("orders stay as they were: recipes are resumed by other versions", function()
  t.eq(collect(data.Random(10, { seed = 42 }), 1), { 5, 2, 8, 4, 6, 10, 9, 7, 3, 1 })
  t.eq(collect(data.Random(10, { seed = 42 }), 2), { 9, 8, 1, 4, 3, 5, 2, 6, 7, 10 })
  t.eq(collect(data.Random(12, { seed = -1 }), 2), { 11, 5, 12, 8, 1, 6, 3, 7, 2, 4, 10, 9 })
end)

t.test("shuffles are uniform: each position is first about equally often", function()
  local counts, sampler = {}, data.Random(5, { seed = 1 })
  for epoch = 1, 5000 do
    local first = sampler:iter(epoch)()
    counts[first] = (counts[first] or 0) + 1
  end
  for position = 1, 5 do t.ok(math.abs(counts[position] - 1000) < 150, "position " .. position) end
end)

t.test("shares of ranks in order", function()
  t.eq(shares(10, 3), { { 1, 4, 7, 10 }, { 2, 5, 8, 1 }, { 3, 6, 9, 2 } })
  t.eq(shares(10, 3, { drop_last = true }), { { 1, 4, 7 }, { 2, 5, 8 }, { 3, 6, 9 } })
  t.eq(shares(10, 4), { { 1, 5, 9 }, { 2, 6, 10 }, { 3, 7, 1 }, { 4, 8, 2 } })
  t.eq(shares(10, 4, { drop_last = true }), { { 1, 5 }, { 2, 6 }, { 3, 7 }, { 4, 8 } })
  t.eq(shares(1, 4), { { 1 }, { 1 }, { 1 }, { 1 } })
  t.eq(shares(1, 4, { drop_last = true }), { {}, {}, {}, {} })
end)

t.test("eval mode gives each item to one rank", function()
  t.eq(shares(10, 3, { mode = "eval" }), { { 1, 4, 7, 10 }, { 2, 5, 8 }, { 3, 6, 9 } })
  t.eq(shares(1, 3, { mode = "eval" }), { { 1 }, {}, {} })
end)

t.test("ranks share one shuffled order, another each epoch", function()
  local seen = {}
  for rank = 0, 2 do
    local sampler = data.DistributedSampler(9, { seed = 5, rank = rank, world_size = 3 })
    for _, position in ipairs(collect(sampler, 2)) do seen[#seen + 1] = position end
  end
  t.eq(sorted(seen), { 1, 2, 3, 4, 5, 6, 7, 8, 9 })
end)

t.test("a rank outside the world is an error", function()
  t.error_like(function() data.DistributedSampler(4, { rank = 2, world_size = 2 }) end,
    { code = "E_RANK" })
end)

t.test("batches of a sampler", function()
  local batches = collect(data.Batch(data.Sequential(7), 3))
  t.eq(batches, { { 1, 2, 3 }, { 4, 5, 6 }, { 7 } })
  t.eq(collect(data.Batch(data.Sequential(7), 3, { drop_last = true })),
    { { 1, 2, 3 }, { 4, 5, 6 } })
  t.eq(#data.Batch(data.Sequential(7), 3), 3)
end)

-- A list of n numbers, all 1, whose __index has a number for any position.
local function endless(n)
  return setmetatable({}, {
    __len = function() return n end,
    __index = function(_, i)
      assert(math.type(i) ~= "integer" or i <= n, "read past the end")
      return math.type(i) == "integer" and 1 or nil
    end,
  })
end

t.test("a list with an __index ends with its length", function()
  local items = { 10, 20, 30 }
  t.eq(collect(data.Subset(endless(3), { shuffle = false })), { 1, 1, 1 })
  t.eq(#data.Weighted(endless(3)), 3)
  t.eq(sorted(collect(data.Weighted(endless(3), 2, { replacement = false, seed = 1 }), 1)),
    sorted(collect(data.Weighted({ 1, 1, 1 }, 2, { replacement = false, seed = 1 }), 1)))
  t.eq(#data.LengthBucket(endless(3), { batch = 2, shuffle = false }), 2)
  t.eq(data.subset(items, endless(3))[3], 10)
  t.eq(#data.split(items, endless(1)), 3)
end)

t.test("a list with a hole is refused", function()
  t.error_like(function() data.Subset { 1, nil, 3 } end, {
    code = "E_TYPE", message = "'positions[2]' must be a number, got nil",
  })
end)

t.test("weighted draws follow the weights", function()
  local counts = { 0, 0, 0 }
  for _, position in ipairs(collect(data.Weighted({ 1, 0, 3 }, 8000, { seed = 2 }))) do
    counts[position] = counts[position] + 1
  end
  t.eq(counts[2], 0)
  t.ok(math.abs(counts[3] - 6000) < 200)
  local all = collect(data.Weighted({ 1, 5, 3 }, 3, { replacement = false, seed = 2 }))
  t.eq(sorted(all), { 1, 2, 3 })
end)

t.test("buckets keep to the budget and lose nothing", function()
  local lengths = {}
  for i = 1, 200 do lengths[i] = i * 37 % 50 + 1 end
  local seen = {}
  local sampler = data.LengthBucket(lengths, { tokens = 200, window = 4, seed = 1 })
  for _, batch in ipairs(collect(sampler)) do
    local longest = 0
    for _, position in ipairs(batch) do
      longest = math.max(longest, lengths[position])
      seen[#seen + 1] = position
    end
    t.ok(longest * #batch <= 200)
  end
  for i, position in ipairs(sorted(seen)) do t.eq(position, i) end
end)

t.test("buckets cost every rank about the same", function()
  local lengths, costs, counts = {}, {}, {}
  for i = 1, 1000 do lengths[i] = i * 37 % 100 + 1 end
  for rank = 0, 1 do
    local o = { batch = 8, seed = 1, rank = rank, world_size = 2 }
    local sampler = data.LengthBucket(lengths, o)
    local cost = 0
    for batch in sampler:iter(1) do
      local longest = 0
      for _, position in ipairs(batch) do longest = math.max(longest, lengths[position]) end
      cost = cost + longest * #batch
    end
    costs[rank + 1], counts[rank + 1] = cost, #sampler
  end
  t.eq(counts[1], counts[2])
  t.ok(math.abs(costs[1] - costs[2]) < 0.05 * costs[1])
end)
