-- Batches of items of like length: within windows of `window` batches items are sorted by length
-- and cut into batches of at most `tokens` (longest times count) or of `batch` items; the batches
-- come in random order. Over several ranks each gets the same number of batches, of like total
-- cost.
local native = require "rille.native"
local fail = require "rille.fail"
local random = require "rille.data.random"
local read_options = require "rille.options"
local samplers = require "rille.data.samplers"

local LengthBucket = samplers.define "data.LengthBucket"

local known = {
  { "batch", type = "integer", min = 1, doc = "items a batch" },
  {
    "tokens", type = "number", above = 0,
    doc = "the most that the longest length times the count may be",
  },
  { "window", 50, type = "integer", min = 1, doc = "batches whose items are sorted together" },
  { "shuffle", true, doc = "in random order" },
  { "seed", type = "integer", doc = "of its order; the run's without" },
  { "rank", 0, type = "integer", min = 0, doc = "of this process, from 0" },
  { "world_size", 1, type = "integer", min = 1, doc = "how many there are" },
}

-- Batches of items of like length, of `batch` items or of at most `tokens`.
--: lengths: integer[]|rille.Tensor -> rille.data.Sampler
function LengthBucket.new(lengths, options)
  local o = read_options("LengthBucket", options, known)
  if (o.batch == nil) == (o.tokens == nil) then
    fail.option("LengthBucket", "takes either 'batch' or 'tokens'")
  end
  if native.is_tensor(lengths) then lengths = lengths:tolist() end
  lengths = samplers.check_numbers("LengthBucket", "lengths", lengths)
  if o.rank >= o.world_size then
    fail.raise {
      kind = "argument", code = "E_RANK", op = "LengthBucket",
      message = ("rank %d is outside a world of %d"):format(o.rank, o.world_size),
    }
  end
  o.lengths, o.seed = lengths, o.seed or native.initial_seed()
  local self = samplers.make(LengthBucket, o)
  self.count = #self:batches(1)
  return self
end

-- Cuts positions, sorted by length, into batches.
local function cut(self, sorted, batches)
  local batch, longest = {}, 0
  for _, position in ipairs(sorted) do
    local length = self.lengths[position]
    local grown = math.max(longest, length)
    local too_dear = self.tokens and grown * (#batch + 1) > self.tokens
    if #batch > 0 and (too_dear or #batch == self.batch) then
      batches[#batches + 1] = batch
      batch, grown = {}, length
    end
    batch[#batch + 1], longest = position, grown
  end
  if #batch > 0 then batches[#batches + 1] = batch end
end

local function cost(self, batch)
  local longest = 0
  for _, position in ipairs(batch) do longest = math.max(longest, self.lengths[position]) end
  return longest * #batch
end

-- In rounds of one batch a rank, dearest batches first, the dearest of a round to the rank that has
-- least so far; what doesn't fill a round is left out.
local function share(self, batches)
  if self.world_size == 1 then return batches end
  if self.world_size > #batches then return {} end         -- not one round is full
  table.sort(batches, function(a, b)
    local ca, cb = cost(self, a), cost(self, b)
    if ca ~= cb then return ca > cb end
    return a[1] < b[1]
  end)
  local load, mine = {}, {}
  for rank = 0, self.world_size - 1 do load[rank + 1] = { rank = rank, cost = 0 } end
  for first = 1, #batches - self.world_size + 1, self.world_size do
    table.sort(load, function(a, b)
      if a.cost ~= b.cost then return a.cost < b.cost end
      return a.rank < b.rank
    end)
    for i, rank in ipairs(load) do
      local batch = batches[first + i - 1]
      rank.cost = rank.cost + cost(self, batch)
      if rank.rank == self.rank then mine[#mine + 1] = batch end
    end
  end
  return mine
end

function LengthBucket:batches(epoch)
  local n, order = #self.lengths, {}
  for i = 1, n do order[i] = i end
  if self.shuffle then order = random.permutation(self.seed, epoch, n) end
  local mean = 0
  for _, length in ipairs(self.lengths) do mean = mean + length / n end
  local per_batch = self.batch or math.max(1, math.floor(self.tokens / math.max(mean, 1)))
  local batches, stretch = {}, per_batch * self.window
  for first = 1, n, stretch do
    local part = table.move(order, first, math.min(first + stretch - 1, n), 1, {})
    table.sort(part, function(a, b)
      if self.lengths[a] ~= self.lengths[b] then return self.lengths[a] < self.lengths[b] end
      return a < b
    end)
    cut(self, part, batches)
  end
  batches = share(self, batches)
  if not self.shuffle then return batches end
  local shuffled = {}
  for i, place in ipairs(random.permutation(self.seed + 1, epoch, #batches)) do
    shuffled[i] = batches[place]
  end
  return shuffled
end

function LengthBucket:iter(epoch)
  return samplers.over(self:batches(self:epoch_of(epoch)), 1, 1)
end

return { LengthBucket = LengthBucket.new }
