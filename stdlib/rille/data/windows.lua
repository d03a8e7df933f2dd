-- data.windows(ids, { length, batch, shuffle }): batches of stretches of a long text, x = ids[i ..
-- i+length-1] and y one further. Shuffled it is an endless stream of random windows, else one pass
-- in order. The n-th batch of an epoch is a pure function of (seed, epoch, n), so its state is two
-- numbers.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"
local fail = require "rille.fail"
local random = require "rille.data.random"
local read_options = require "rille.options"
local check_state = require "rille.data.check_state"

local Windows = class "data.windows"

local known = {
  { "length", type = "integer", min = 1, required = true, doc = "ids a window" },
  { "batch", 1, type = "integer", min = 1, doc = "windows a batch" },
  { "shuffle", false, doc = "an endless stream of random windows" },
  { "seed", type = "integer", doc = "of its order; the run's without" },
  { "drop_last", true, doc = "a batch that is not full is left out" },
}

-- The ids of a source: a text, or a tensor of one dim.
local function ids_of(source)
  local ids = native.is_tensor(source) and source or type(source) == "table" and source.ids
  if not native.is_tensor(ids) then fail.type("windows", "ids", "a tensor or a text", source) end
  if not ids.dtype:match "^[iu]%d" then
    fail.raise {
      kind = "dtype", code = "E_DTYPE", op = "windows",
      message = "'ids' must be of an integer dtype, got " .. ids.dtype, hint = 'ids:to "i64"',
    }
  elseif ids:dim() ~= 1 then
    fail.raise {
      kind = "shape", code = "E_SHAPE", op = "windows",
      message = ("'ids' must have one dim, got [%s]"):format(table.concat(ids:shape(), ", ")),
      hint = "ids:flatten()",
    }
  end
  return ids
end

-- Batches of stretches of a long text: x, and y one further.
--: source: rille.Tensor|rille.data.Set -> rille.data.Set
function Windows.new(source, options)
  local o = read_options("windows", options, known)
  local ids = ids_of(source)
  local n = ids:numel()
  if n < o.length + 1 then
    fail.argument("windows", "a window of %d needs %d ids, there are %d", o.length, o.length + 1, n)
  end
  local self = setmetatable({ ids = ids, length = o.length, size = o.batch }, Windows)
  self.shuffle = o.shuffle
  self.seed, self.epoch, self.done = o.seed or native.initial_seed(), 1, 0
  self.places = n - o.length                      -- windows by their first id
  self.whole = (n - 1) // o.length                -- windows that don't overlap
  self.count = o.drop_last and self.whole // o.batch or (self.whole + o.batch - 1) // o.batch
  self.offsets = rille.arange(0, o.length - 1, { dtype = "i64" })
  return self
end

-- First ids (from 0) of the windows of batch n.
local function starts(self, n)
  local list = {}
  for i = 1, self.size do
    local index = (n - 1) * self.size + i
    if self.shuffle then
      list[i] = random.below(self.seed, self.epoch, index, self.places) - 1
    elseif index <= self.whole then
      list[i] = (index - 1) * self.length
    end
  end
  return list
end

-- Batch n of the current epoch, from 1.
function Windows:at(n)
  check("windows.at", "n", n, { type = "integer", min = 1 })
  local first = starts(self, n)
  local places = rille.tensor(first, { dtype = "i64" }):unsqueeze(2) + self.offsets
  local flat = places:flatten()
  return {
    x = self.ids:index_select(1, flat):view(#first, self.length):to("i64"),
    y = self.ids:index_select(1, flat + 1):view(#first, self.length):to("i64"),
  }
end

-- Iterates batch and number; an epoch given starts that epoch anew, without one it goes on. The
-- epoch of a state that was loaded goes on, too.
function Windows:iter(epoch)
  if epoch ~= nil then check("windows.iter", "epoch", epoch, { type = "integer" }) end
  local loaded = self.loaded and (epoch == nil or epoch == self.epoch)
  self.loaded = nil
  if not loaded and epoch then
    self.epoch, self.done = epoch, 0
  elseif not loaded and not self.shuffle and self.done >= self.count then
    self.epoch, self.done = self.epoch + 1, 0
  end
  return function()
    if not self.shuffle and self.done >= self.count then return nil end
    self.done = self.done + 1
    return self:at(self.done), self.done
  end
end

-- `for batch in windows do`
function Windows:__call(_, control)
  if control == nil then self.current = self:iter() end
  if not self.current then fail.state("windows", "a loop that did not begin") end
  return self.current()
end

function Windows:__len()
  return self.shuffle and fail.state("windows", "a shuffled stream has no end") or self.count
end

function Windows:state()
  return { epoch = self.epoch, batches = self.done, seed = self.seed, places = self.places }
end

function Windows:load_state(state)
  check_state("windows", state)
  if not self.shuffle and state.batches > self.count then
    fail.state("windows", "the state is of batch %d, there are %d", state.batches, self.count)
  end
  if state.places and state.places ~= self.places then
    fail.state("windows", "the state is of %d windows, there are %d", state.places, self.places)
  end
  self.epoch, self.done, self.loaded = state.epoch, state.batches, true
  self.seed = state.seed or self.seed
end

return Windows
