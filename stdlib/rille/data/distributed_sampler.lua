-- Each rank's share of a dataset: order[rank], order[rank + world], ... In training every rank
-- gets the same number (padded from the front, or cut with drop_last); mode "eval" gives each item
-- to one rank only.
local fail = require "rille.fail"
local random = require "rille.data.random"
local read_options = require "rille.options"
local samplers = require "rille.data.samplers"

local DistributedSampler = samplers.define "data.DistributedSampler"

local function place_in_world()
  local dist = package.loaded["rille.dist"]
  if dist and dist.is_initialized() then return dist.rank(), dist.world_size() end
  return 0, 1
end

local known = {
  { "shuffle", true, doc = "in random order" },
  { "seed", 0, type = "integer", doc = "of the order that all ranks share" },
  { "drop_last", false, doc = "items that don't fill a round are left out, not repeated" },
  { "mode", "train", type = '"train"|"eval"', doc = "eval gives each item to one rank only" },
  { "rank", type = "integer", doc = "of this process, from 0" },
  { "world_size", type = "integer", min = 1, doc = "how many there are" },
}

-- Each rank's share of a dataset.
--: set: integer|rille.data.Set -> rille.data.Sampler
function DistributedSampler.new(set, options)
  local o = read_options("DistributedSampler", options, known)
  local rank, world = place_in_world()
  rank, world = o.rank or rank, o.world_size or world
  if rank < 0 or rank >= world then
    fail.raise {
      kind = "argument", code = "E_RANK", op = "DistributedSampler",
      message = ("rank %d is outside a world of %d"):format(rank, world),
    }
  end
  local n = samplers.size_of("DistributedSampler", set)
  local count = (n + world - 1) // world
  if o.drop_last then count = n // world end
  if o.mode == "eval" then count = math.max(0, (n - rank + world - 1) // world) end
  return samplers.make(DistributedSampler, {
    size = n, rank = rank, world = world, count = count, shuffle = o.shuffle, seed = o.seed,
  })
end

-- The order that all ranks share is seeded by seed + epoch.
function DistributedSampler:iter(epoch)
  epoch = self:epoch_of(epoch)
  local order = self.shuffle and random.permutation(self.seed + epoch, 0, self.size)
  local i = 0
  return function()
    if i >= self.count then return nil end
    local place = (i * self.world + self.rank) % self.size + 1
    i = i + 1
    return order and order[place] or place
  end
end

return { DistributedSampler = DistributedSampler.new }
