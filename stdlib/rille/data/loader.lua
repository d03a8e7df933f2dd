-- data.Loader: batches of a dataset in the order of a sampler, made here or by workers ahead of
-- their use.
local native = require "rille.native"
local class = require "rille.class"
local check_type = require "rille.check"
local fail = require "rille.fail"
local check_set = require "rille.data.check_set"
local check_state = require "rille.data.check_state"
local fetch = require "rille.data.fetch"
local read_options = require "rille.options"
local pipeline = require "rille.data.pipeline"
local samplers = require "rille.data.samplers"

local Loader = class "data.Loader"
local methods = Loader.__index

local known = {
  {
    "batch", type = "integer|false", min = 1,
    doc = "items a batch, 1 without; false: items as they are",
  },
  { "shuffle", type = "boolean", doc = "in random order" },
  { "sampler", type = "rille.data.Sampler|integer[]", doc = "the order of the items" },
  { "batch_sampler", type = "rille.data.Sampler", doc = "the order, in lists of positions" },
  { "workers", 0, type = "integer", min = 0, doc = "threads that make batches ahead" },
  { "transform", type = "(fun(item: any): any)|table", doc = "of an item, or of its fields" },
  { "collate", type = "fun(items: any[]): any", doc = "makes a batch of a list of items" },
  { "pin_memory", false, doc = "tensors are copied to memory that a device can read" },
  { "drop_last", type = "boolean", doc = "a batch that is not full is left out" },
  { "prefetch", type = "integer", min = 1, doc = "batches that each worker is ahead" },
  { "persistent", type = "boolean", doc = "workers stay from one epoch to the next" },
  { "timeout", 0, min = 0, doc = "seconds to wait for a batch; 0: for ever" },
  { "in_order", true, doc = "batches come in the order of the sampler" },
  { "seed", type = "integer", doc = "of its order and transforms; the run's without" },
  { "worker_init", type = "fun(number: integer)", doc = "runs first in each worker" },
}

-- Two options that exclude each other, as in PyTorch.
local function check(o)
  local function exclude(one, other)
    if o[one] and o[other] then
      fail.option("Loader", "'%s' and '%s' exclude each other", one, other)
    end
  end
  exclude("sampler", "shuffle")
  for _, name in ipairs { "batch", "shuffle", "sampler", "drop_last" } do
    exclude("batch_sampler", name)
  end
  if o.batch == false and o.drop_last then fail.option("Loader", "'drop_last' needs batches") end
  for _, name in ipairs { "prefetch", "persistent" } do
    if o[name] and o.workers == 0 then fail.option("Loader", "'%s' needs workers", name) end
  end
  if o.sampler and type(o.sampler) ~= "table" then
    fail.type("Loader", "sampler", "a sampler or a list of positions", o.sampler)
  end
  if o.batch_sampler and not samplers.is_sampler(o.batch_sampler) then
    fail.type("Loader", "batch_sampler", "a sampler", o.batch_sampler)
  end
  if type(o.transform) == "table" then
    for name, f in pairs(o.transform) do
      check_type("Loader", "transform." .. tostring(name), f, { type = "fun" })
    end
  end
end

-- An order of positions (batch = false) or of lists of them.
local function order_of(set, o)
  if o.batch_sampler then return o.batch_sampler end
  local sampler = o.sampler
  if type(sampler) == "table" and not sampler.iter then
    sampler = samplers.Subset(sampler, { shuffle = false })
  end
  if not sampler then
    sampler = o.shuffle and samplers.Random(set, { seed = o.seed }) or samplers.Sequential(set)
  end
  if o.batch == false then return sampler end
  return samplers.Batch(sampler, o.batch or 1, { drop_last = o.drop_last or false })
end

-- Batches of a dataset in the order of a sampler, made here or by workers ahead of their use.
--: set: rille.data.Set|table -> rille.data.DataLoader
function Loader.new(set, options)
  check_set("Loader", "set", set)
  if #set == 0 then fail.argument("Loader", "the set has no items") end
  local o = read_options("Loader", options, known)
  check(o)
  o.seed = o.seed or native.initial_seed()
  local self = setmetatable({ set = set, options = o, running = {} }, Loader)
  self.transform = o.transform
  self.order, self.epoch, self.done, self.ended = order_of(set, o), 0, 0, true
  self.plan = {
    set = set, transform = o.transform, collate = o.collate, seed = o.seed,
    worker_init = o.worker_init,
  }
  return self
end

-- Where there is no CUDA, tensors have no such method and batches stay as they are.
local can_pin = rawget(native.tensor_methods, "pin_memory") ~= nil

local function pinned(value)
  if native.is_tensor(value) then return value:pin_memory() end
  if type(value) ~= "table" then return value end
  if type(value.pin) == "function" then return value:pin() end
  local copy = {}
  for key, part in pairs(value) do copy[key] = pinned(part) end
  return copy
end

-- Which epoch comes: the one asked for, else the one that was loaded, else what the user told the
-- sampler, else the next; and how many of its batches were had already.
local function begin(self, epoch)
  local sampler, skip = self.order.sampler or self.order, 0
  if self.resume and (epoch == nil or epoch == self.resume.epoch) then
    epoch, skip = self.resume.epoch, self.resume.batches
  end
  self.resume, self.ended = nil, false
  if epoch == nil and sampler.chosen then epoch = sampler.epoch end
  self.epoch, self.done = epoch or self.epoch + 1, skip
  if self.order.set_epoch then self.order:set_epoch(self.epoch) end
  sampler.chosen = nil
  return skip
end

-- Iterates batch and its number in the epoch. Without an epoch each call is the next one, from 1.
--: epoch?: integer -> (fun(): any, integer)
function Loader:iter(epoch)
  if epoch ~= nil then check_type("Loader.iter", "epoch", epoch, { type = "integer" }) end
  local skip = begin(self, epoch)
  local next_positions = self.order:iter(self.epoch)
  for _ = 1, skip do next_positions() end
  local source = self.options.workers > 0 and pipeline.start(self, next_positions)
  local current, count = self.epoch, skip
  return function()
    local batch
    if source then
      batch = source()
    else
      local positions = next_positions()
      if positions then batch = fetch.fetch_here(self.plan, positions, current) end
    end
    if batch == nil then
      self.ended = true
      if not self.options.persistent then self:close() end
      return nil
    end
    count = count + 1
    self.done = count
    if can_pin and self.options.pin_memory then batch = pinned(batch) end
    return batch, count
  end
end

-- `for batch in loader do`: Lua calls the loader with the batch before, which tells one loop from
-- another.
function Loader:__call(_, before)
  local next_batch = before == nil and self:iter() or self.running[before]
  if not next_batch then
    local told = "it is called by `for batch in loader do`, with the batch before; two loops that "
      .. "have the same batch need a collate that makes a new one each time"
    fail.state("Loader", "%s", told)
  end
  if before ~= nil then self.running[before] = nil end
  local batch, i = next_batch()
  if batch ~= nil then self.running[batch] = next_batch end
  return batch, i
end

function Loader:__len()
  return #self.order
end

local function sampler_of(self)
  return type(self.order) == "table" and self.order.sampler or self.order
end

-- Where the loader stands, and what its order is made from; with any number of workers the batch
-- after load_state is the one that came next.
--: -> table
function Loader:state()
  local sampler = sampler_of(self)
  local epoch, batches = self.epoch, self.done
  if self.ended then epoch, batches = epoch + 1, 0 end
  return {
    epoch = epoch, batches = batches, items = #self.set, batch = self.options.batch or 1,
    seed = self.plan.seed, order_seed = sampler.seed, sampler = sampler.state and sampler:state(),
  }
end

-- A state takes its seeds along, so that the order is the same whatever this loader was made with.
--: state: table
function Loader:load_state(state)
  check_state("Loader", state)
  local sampler = sampler_of(self)
  for name, own in pairs { items = #self.set, batch = self.options.batch or 1 } do
    if state[name] ~= nil and state[name] ~= own then
      fail.state("Loader", "the state is of a loader with %s = %s, here it is %s", name,
        tostring(state[name]), tostring(own))
    end
  end
  if self.order.fixed and state.batches > #self.order then
    fail.state("Loader", "the state is of batch %d, there are %d", state.batches, #self.order)
  end
  if state.seed and state.seed ~= self.plan.seed then
    self.plan.seed = state.seed
    self:close()                                         -- workers that have the old one
  end
  if state.order_seed then sampler.seed = state.order_seed end
  if state.sampler and sampler.load_state then sampler:load_state(state.sampler) end
  self.resume = { epoch = state.epoch, batches = state.batches }
  self.epoch, self.done, self.ended = state.epoch, state.batches, false
end

-- Ends the workers; the next loop starts them again.
function Loader:close()
  if self.pool then self.pool:close() end
  self.pool = nil
end

Loader.__close = Loader.close -- one that is collected leaves its pool to the pool's own finalizer

function Loader:__index(key)
  if key == "call" then
    return function(...) return Loader.__call(self, ...) end
  end
  return methods[key]
end

return Loader
