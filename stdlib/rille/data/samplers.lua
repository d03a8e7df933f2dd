-- Samplers give an order: sampler:iter(epoch) iterates positions from 1, #sampler is how many. An
-- order is a pure function of (seed, epoch).
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"
local fail = require "rille.fail"
local random = require "rille.data.random"
local read_options = require "rille.options"
local check_set = require "rille.data.check_set"

-- How many items a sampler orders: those of a dataset, or a count.
local function size_of(op, set)
  if type(set) ~= "number" then return #check_set(op, "set", set) end
  return check(op, "set", set, { type = "integer", min = 0 })
end

-- Returns the list. Where it has a metatable, returns a plain copy of its #list items: an __index
-- that always gives a number has no end for ipairs.
local function check_numbers(op, name, list)
  check(op, name, list, { type = "table" })
  local plain = getmetatable(list) ~= nil and {}
  for i = 1, #list do
    local value = list[i]
    if type(value) ~= "number" then fail.type(op, ("%s[%d]"):format(name, i), "a number", value) end
    if plain then plain[i] = value end
  end
  return plain or list
end

local function over(list, first, step)
  local i = first - step
  return function()
    i = i + step
    return list[i]
  end
end

local whole = { type = "integer" }

-- A class whose instances know their length and whose epoch can be set.
local function define(name)
  local sampler = class(name)
  sampler.__len = function(self) return self.count end
  -- `chosen` tells a loader that this epoch is the user's and not its own count.
  function sampler:set_epoch(epoch)
    self.epoch, self.chosen = check(name .. ".set_epoch", "epoch", epoch, whole), true
  end
  -- The epoch that was asked for, or the one that was set.
  function sampler:epoch_of(epoch)
    if epoch == nil then return self.epoch end
    return check(name .. ".iter", "epoch", epoch, whole)
  end
  return sampler
end

local function make(sampler, fields)
  fields.epoch = fields.epoch or 1
  return setmetatable(fields, sampler)
end

local Sequential = define "data.Sequential"

-- The positions in order.
--: set: integer|rille.data.Set -> rille.data.Sampler
function Sequential.new(set)
  return make(Sequential, { count = size_of("Sequential", set) })
end

function Sequential:iter()
  local i = 0
  return function()
    if i < self.count then
      i = i + 1
      return i
    end
  end
end

local Random = define "data.Random"

-- The positions in random order, or with replacement `count` independent draws.
--: set: integer|rille.data.Set -> rille.data.Sampler
function Random.new(set, options)
  local o = read_options("Random", options, {
    { "replacement", false, doc = "a position may come twice" },
    { "count", type = "integer", min = 0, doc = "how many an epoch has; all without" },
    { "seed", type = "integer", doc = "of its order; the run's without" },
  })
  local n = size_of("Random", set)
  return make(Random, {
    size = n, count = o.count or n, replacement = o.replacement,
    seed = o.seed or native.initial_seed(),
  })
end

function Random:iter(epoch)
  epoch = self:epoch_of(epoch)
  if not self.replacement then
    local i, order, round = 0, nil, 0
    return function()
      if i >= self.count then return nil end
      if i % self.size == 0 then
        order = random.permutation(self.seed + (round << 32), epoch, self.size)
        round = round + 1
      end
      i = i + 1
      return order[(i - 1) % self.size + 1]
    end
  end
  local i = 0
  return function()
    if i >= self.count then return nil end
    i = i + 1
    return random.below(self.seed, epoch, i, self.size)
  end
end

local Subset = define "data.SubsetRandom"

-- The given positions in random order.
--: positions: integer[] -> rille.data.Sampler
function Subset.new(positions, options)
  local o = read_options("Subset", options, {
    { "shuffle", true, doc = "in random order" },
    { "seed", type = "integer", doc = "of its order; the run's without" },
  })
  positions = check_numbers("Subset", "positions", positions)
  return make(Subset, {
    positions = positions, count = #positions, shuffle = o.shuffle,
    seed = o.seed or native.initial_seed(),
  })
end

function Subset:iter(epoch)
  if not self.shuffle then return over(self.positions, 1, 1) end
  local next_place = over(random.permutation(self.seed, self:epoch_of(epoch), self.count), 1, 1)
  return function()
    return self.positions[next_place()]
  end
end

local Weighted = define "data.Weighted"

-- Positions with probability in proportion to their weights.
--: weights: number[]|rille.Tensor, count?: integer -> rille.data.Sampler
function Weighted.new(weights, count, options)
  local o = read_options("Weighted", options, {
    { "replacement", true, doc = "a position may come twice" },
    { "seed", type = "integer", doc = "of its order; the run's without" },
  })
  if native.is_tensor(weights) then weights = weights:tolist() end
  weights = check_numbers("Weighted", "weights", weights)
  if count ~= nil then count = check("Weighted", "count", count, { type = "integer", min = 0 }) end
  local sums, total = {}, 0
  for i, weight in ipairs(weights) do
    if weight < 0 or weight ~= weight then
      fail.argument("Weighted", "weight %d is %s", i, tostring(weight))
    end
    total = total + weight
    sums[i] = total
  end
  if total <= 0 then fail.argument("Weighted", "no weight is above 0") end
  if not o.replacement and (count or 0) > #weights then
    fail.argument("Weighted", "%d draws from %d without replacement", count, #weights)
  end
  return make(Weighted, {
    weights = weights, sums = sums, count = count or #weights, replacement = o.replacement,
    seed = o.seed or native.initial_seed(),
  })
end

local function search(sums, wanted)
  local low, high = 1, #sums
  while low < high do
    local middle = (low + high) // 2
    if sums[middle] > wanted then high = middle else low = middle + 1 end
  end
  return low
end

-- Without replacement: the largest of u^(1/w) (Efraimidis and Spirakis, 2006).
local function reservoir(self, epoch)
  local keys, order = {}, {}
  for i, weight in ipairs(self.weights) do
    local u = random.uniform(self.seed, epoch, i)
    keys[i] = weight > 0 and math.log(1 - u) / weight or -math.huge
    order[i] = i
  end
  table.sort(order, function(a, b)
    if keys[a] ~= keys[b] then return keys[a] > keys[b] end
    return a < b
  end)
  return table.move(order, 1, self.count, 1, {})
end

function Weighted:iter(epoch)
  epoch = self:epoch_of(epoch)
  if not self.replacement then return over(reservoir(self, epoch), 1, 1) end
  local i = 0
  return function()
    if i >= self.count then return nil end
    i = i + 1
    return search(self.sums, random.uniform(self.seed, epoch, i) * self.sums[#self.sums])
  end
end

local function is_sampler(value)
  return type(value) == "table" and type(value.iter) == "function"
end

local Batch = define "data.Batch"
Batch.fixed = true                       -- each epoch has as many batches

-- The positions of a sampler in lists of `size`.
--: sampler: rille.data.Sampler, size: integer -> rille.data.Sampler
function Batch.new(sampler, size, options)
  local o = read_options("Batch", options, {
    { "drop_last", false, doc = "a list that is not full is left out" },
  })
  if not is_sampler(sampler) then fail.type("Batch", "sampler", "a sampler", sampler) end
  if math.type(size) ~= "integer" or size < 1 then
    fail.argument("Batch", "the batch size must be a positive integer, got %s", tostring(size))
  end
  local count = o.drop_last and #sampler // size or (#sampler + size - 1) // size
  return make(Batch, { sampler = sampler, size = size, drop_last = o.drop_last, count = count })
end

local set_epoch = Batch.set_epoch

function Batch:set_epoch(epoch)
  set_epoch(self, epoch)
  if self.sampler.set_epoch then self.sampler:set_epoch(epoch) end
end

function Batch:iter(epoch)
  local next_position = self.sampler:iter(epoch)
  return function()
    local batch = {}
    while #batch < self.size do
      local position = next_position()
      if not position then break end
      batch[#batch + 1] = position
    end
    if #batch == self.size or (#batch > 0 and not self.drop_last) then return batch end
  end
end

return {
  Sequential = Sequential.new, Random = Random.new, Subset = Subset.new, Weighted = Weighted.new,
  Batch = Batch.new, define = define, make = make, over = over, size_of = size_of,
  is_sampler = is_sampler, check_numbers = check_numbers,
}
