-- The constructors of rille.data by name.
local Table = require "rille.data.table"
local Subset = require "rille.data.subset"
local combine = require "rille.data.combine"
local files = require "rille.data.files"
local samplers = require "rille.data.samplers"

return {
  table = Table.new,
  idx = require "rille.data.idx".new,
  text = require "rille.data.text".new,
  windows = require "rille.data.windows".new,
  tokens = files.tokens,
  csv = files.csv,
  map = combine.Map.new,
  concat = combine.Concat.new,
  subset = Subset.new,
  split = Subset.split,
  Loader = require "rille.data.loader".new,
  Sequential = samplers.Sequential,
  Random = samplers.Random,
  Weighted = samplers.Weighted,
  Subset = samplers.Subset,
  Batch = samplers.Batch,
  LengthBucket = require "rille.data.length_bucket".LengthBucket,
  DistributedSampler = require "rille.data.distributed_sampler".DistributedSampler,
  pad_collate = require "rille.data.collate".pad_collate,
}
