-- An endless stream of batches from what a recipe's `batches` returned: a loader or windows
-- (anything with :iter(epoch)), an iterator function, or a list. Ends of epochs are passed over,
-- and its place can be saved.
local native = require "rille.native"
local class = require "rille.class"
local fail = require "rille.fail"
local moved = require "rille.recipe.fields".moved
local random_state = require "rille.random_state"

local Stream = class "Stream"

-- What a source draws comes from streams of its own: then its batches depend on how often it was
-- called and on nothing else, and calling it again as often puts it where it was.
local own_seed = 0x57ea4

-- `made_by` is the function that gave the source, where one did.
function Stream.new(source, on_epoch, made_by)
  if type(source) ~= "table" and type(source) ~= "function" then
    fail.type("recipe", "batches", "a loader, windows, a list or an iterator", source)
  end
  local self = setmetatable({
    source = source, epoch = 0, done = 0, on_epoch = on_epoch, made_by = made_by,
    calls = 0,                                           -- of an iterator function
  }, Stream)
  local _ <close> = random_state.keep()
  random_state.seed(native.initial_seed() ~ own_seed)
  self.random = random_state.get()
  self.epoch_random = self.random
  return self
end

local function over_list(list, first)
  local i = first - 1
  return function()
    i = i + 1
    return list[i]
  end
end

-- f(...) with the source's own random numbers.
local function aside(self, f, ...)
  local _ <close> = random_state.keep()
  random_state.set(self.random)
  local value = f(...)
  self.random = random_state.get()
  return value
end

local function draw(self)
  if type(self.source) == "function" then self.calls = self.calls + 1 end
  return (aside(self, self.next_batch))
end

-- The iterator of an epoch, at its beginning.
local function begin(self, epoch)
  local source = self.source
  self.epoch_random = self.random
  if type(source) == "function" then
    self.next_batch = source
  elseif source.iter then
    self.next_batch = aside(self, source.iter, source, epoch)
  else
    self.next_batch = over_list(source, 1)
  end
end

function Stream:start(epoch)
  if self.on_epoch and self.epoch > 0 then self.on_epoch(self.epoch) end
  self.epoch, self.done = epoch or self.epoch + 1, 0
  begin(self, self.epoch)
end

-- The next batch, on the device.
function Stream:next(device)
  if not self.next_batch then self:start() end
  local batch = draw(self)
  if batch == nil then
    if self.done > 0 then
      self:start()
      batch = draw(self)
    end
    if batch == nil then
      native.stand_in(self.made_by)
      fail.state("recipe", "'batches' gave no batch in epoch %d", self.epoch)
    end
  end
  self.done = self.done + 1
  return moved(batch, device)
end

-- What the place of a source is kept in: its own state, or how far it was called.
local function kind_of(source)
  if type(source) == "function" then return "function" end
  if source.load_state and source.state then return "source with a state" end
  return source.iter and "source with iter" or "list"
end

function Stream:state()
  local kind = kind_of(self.source)
  return {
    kind = kind, epoch = self.epoch, batches = self.done, calls = self.calls,
    random = self.random, epoch_random = self.epoch_random,
    source = kind == "source with a state" and self.epoch > 0 and self.source:state() or nil,
  }
end

-- The state that the source itself has now; nil where the saved place is of another kind of source.
function Stream:own_state(saved)
  local kind = kind_of(self.source)
  if saved.kind ~= kind or kind ~= "source with a state" then return nil end
  return self.source:state()
end

-- How many batches an epoch has, where that is known and the saved place is of data as large.
function Stream:length_for(saved)
  if saved.kind == "list" and kind_of(self.source) == "list" then return #self.source end
  local own, place, metatable = self:own_state(saved), saved.source, getmetatable(self.source)
  if type(metatable) ~= "table" or not metatable.__len then return nil end
  if type(own) ~= "table" or type(place) ~= "table" then return nil end
  for _, name in ipairs { "items", "batch", "places" } do
    if own[name] ~= place[name] then return nil end
  end
  local ok, length = pcall(function() return #self.source end)
  return ok and math.type(own.batches) == "integer" and length or nil
end

local function skip(self, n)
  for _ = 1, n do draw(self) end
end

-- Goes on after the batches that were had: at once where the source can, else by having them again.
function Stream:load_state(state)
  local kind = kind_of(self.source)
  if state.kind ~= kind then
    fail.state("resume", "the batches came from a %s, now from a %s", state.kind, kind)
  end
  self.epoch, self.done = state.epoch, state.batches
  if state.epoch == 0 then return end
  if kind == "function" then
    self.calls = 0
    begin(self)
    skip(self, state.calls)
  elseif kind == "source with a state" then
    self.random = state.random
    self.source:load_state(state.source)
    self.next_batch = aside(self, self.source.iter, self.source, state.epoch)
  elseif kind == "source with iter" then
    self.random = state.epoch_random
    begin(self, state.epoch)
    skip(self, state.batches)
  else
    self.next_batch = over_list(self.source, state.batches + 1)
  end
  self.random, self.epoch_random = state.random, state.epoch_random
end

-- Number of tokens in a batch of ids, else of samples, and the unit's name.
function Stream.units(batch)
  local t = native.is_tensor(batch) and batch or type(batch) == "table" and (batch.x or batch[1])
  if not native.is_tensor(t) or t:dim() == 0 then return 0, "ex" end
  if t.dtype:match "^i" and t:dim() >= 2 then return t:numel(), "tok" end
  return #t, "ex"
end

return Stream
