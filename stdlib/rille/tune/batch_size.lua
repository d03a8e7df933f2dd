-- rille.tune.batch_size: the largest batch whose step fits into the memory there is. Steps are
-- rehearsed on meta, so none of them runs out of memory or computes anything.
local rille = require "rille"
local native = require "rille.native"
local aside = require "rille.tune.aside"
local fail = require "rille.fail"
local random_state = require "rille.random_state"
local read_options = require "rille.options"
local rehearsal = require "rille.rehearsal"
local sizes = require "rille.sizes"

local op = "tune.batch_size"
local steps = 4                                          -- rehearsed of each batch

local known = {
  { "step", type = "fun(batch: integer): any", required = true,
    doc = "a training step with so many samples: makes a batch, forward, backward, step" },
  { "model", type = "rille.nn.Module|table", doc = "the module that step trains, or several" },
  { "optimizer", type = "rille.optim.Optimizer|table", doc = "its optimizer, or several" },
  { "tensors", type = "table", doc = "other tensors that step reads, in a table" },
  { "memory", type = "integer|string",
    doc = "bytes that all tensors may take, such as \"8GiB\"; rille.memory.limit's without, else "
      .. "nine tenths of the machine's" },
  { "min", type = "integer", min = 1, doc = "the least batch; multiple_of without" },
  { "max", 65536, type = "integer", min = 1, doc = "the largest batch to try" },
  { "multiple_of", 1, type = "integer", min = 1, doc = "batches are multiples of it" },
  { "mode", "binsearch", type = '"binsearch"|"power"',
    doc = "power: min, doubled as often as it fits; binsearch: to the largest then by bisection" },
}

-- In bytes, and what it is called in an error.
local function room_of(o)
  if o.memory == nil then
    local room, is_limit = native.memory_room()
    return is_limit and room or room // 10 * 9
  end
  local bytes = sizes.read(o.memory)
  if not bytes then
    fail.argument(op, "'memory' must be a size such as '8GiB', got %s", fail.describe(o.memory))
  end
  return bytes
end

-- The least and the largest batch that may be tried.
local function bounds_of(o)
  local unit = o.multiple_of
  local least = ((o.min or unit) + unit - 1) // unit * unit
  local most = o.max // unit * unit
  if least > most then
    fail.argument(op, "no multiple of %d is from %d to %d ('min' to 'max')", unit, o.min or unit,
      o.max)
  end
  return least, most
end

-- The peak of steps in bytes, with what else is in memory. Garbage of one may lie in the next.
local function peak_of(o, batch, others)
  collectgarbage()
  rehearsal.from_here()
  for _ = 1, steps do rehearsal.on_meta(o.step, batch) end
  local _, peak = rehearsal.figures()
  return peak + others
end

-- Tries batches; gives the largest that fits, nil where not even the least does, and the figures.
local function search(o, room, others)
  local least, most = bounds_of(o)
  local figures = { memory = room }
  local function fits(batch)
    local peak = peak_of(o, batch, others)
    figures[#figures + 1] = { batch = batch, peak = peak, fits = peak <= room }
    return peak <= room
  end
  peak_of(o, least, others)                              -- makes the optimizer's state
  if not fits(least) then return nil, figures end
  local good, bad = least, nil
  while good < most and not bad do
    local batch = math.min(2 * good, most)
    if o.mode == "power" and batch ~= 2 * good then break end
    if fits(batch) then good = batch else bad = batch end
  end
  local unit = o.multiple_of
  while o.mode == "binsearch" and bad and bad - good > unit do
    local batch = (good + bad) // 2 // unit * unit
    if fits(batch) then good = batch else bad = batch end
  end
  return good, figures
end

local function search_aside(o, room)
  local scope <close> = aside.on_meta { o.model, o.optimizer, o.tensors }
  local others = rille.memory.allocated() - scope:bytes()
  scope:move()
  local _ <close> = rehearsal.hints("'step' is rehearsed on meta, so it must not read values",
    "name what 'step' reads in 'model', 'optimizer' or 'tensors'")
  local _ <close> = random_state.keep()
  return search(o, room, others)
end

-- The largest batch of which a training step fits into the memory there is, and what was tried: a
-- list of { batch, peak (bytes), fits }, with the bytes there are as `memory`. `step` is called
-- with each batch to try, and everything in it is on meta: model, optimizer, the tensors named, and
-- new tensors. Nothing is computed, so it must not read values (item, print, a mask as an index).
-- Afterwards parameters, gradients, optimizer state and random numbers are as before. Memory that
-- other tensors hold meanwhile counts as taken. E_OOM_BUDGET where not even the least batch fits.
--: -> integer, table
return function(options)
  local o = read_options(op, options, known)
  local room = room_of(o)
  bounds_of(o)
  collectgarbage()
  collectgarbage()                                       -- what the first has finalized
  local batch, figures = rehearsal.within(search_aside, o, room)
  if batch then return batch, figures end
  fail.raise {
    kind = "memory", code = "E_OOM_BUDGET", op = op,
    message = ("a step with a batch of %d takes %s, and there are %s"):format(figures[1].batch,
      sizes.text(figures[1].peak), sizes.text(room)),
    hint = "a smaller model, rille.amp.autocast or a smaller 'min' takes less",
  }
end
