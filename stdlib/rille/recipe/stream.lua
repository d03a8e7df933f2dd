-- An endless stream of batches from what a recipe's `batches` returned: a loader or windows
-- (anything with :iter(epoch)), an iterator function, or a list. Ends of epochs are passed over,
-- and its place can be saved.
local native = require "rille.native"
local fail = require "rille.fail"

local Stream = {}
Stream.__index = Stream

function Stream.new(source, on_epoch)
  if type(source) ~= "table" and type(source) ~= "function" then
    fail.type("recipe", "batches", "a loader, windows, a list or an iterator", source)
  end
  return setmetatable({ source = source, epoch = 0, done = 0, on_epoch = on_epoch }, Stream)
end

local function over_list(list, first)
  local i = first - 1
  return function()
    i = i + 1
    return list[i]
  end
end

function Stream:start(epoch)
  if self.on_epoch and self.epoch > 0 then self.on_epoch(self.epoch) end
  self.epoch, self.done = epoch or self.epoch + 1, 0
  if type(self.source) == "function" then
    self.next_batch = self.source
  elseif self.source.iter then
    self.next_batch = self.source:iter(self.epoch)
  else
    self.next_batch = over_list(self.source, 1)
  end
end

local function moved(value, device)
  if native.is_tensor(value) then return value:to(device) end
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, part in pairs(value) do copy[key] = moved(part, device) end
  return copy
end

-- The next batch, on the device.
function Stream:next(device)
  if not self.next_batch then self:start() end
  local batch = self.next_batch()
  if batch == nil then
    self:start()
    batch = self.next_batch()
    if batch == nil then fail.state("recipe", "'batches' gave no batch in epoch %d", self.epoch) end
  end
  self.done = self.done + 1
  return moved(batch, device)
end

function Stream:state()
  return { epoch = self.epoch, batches = self.done }
end

-- Goes on after the batches that were had. An iterator function holds no place of its own: it
-- draws from the generator, which is restored as well.
function Stream:load_state(state)
  self.epoch, self.done = state.epoch, state.batches
  if type(self.source) == "function" or state.epoch == 0 then return end
  if self.source.load_state then
    self.source:load_state(state)
    self.next_batch = self.source:iter()
  elseif self.source.iter then
    self.next_batch = self.source:iter(state.epoch)
    for _ = 1, state.batches do self.next_batch() end
  else
    self.next_batch = over_list(self.source, state.batches + 1)
  end
end

-- Number of tokens in a batch of ids, else of samples, and the unit's name.
function Stream.units(batch)
  local t = native.is_tensor(batch) and batch or type(batch) == "table" and (batch.x or batch[1])
  if not native.is_tensor(t) or t:dim() == 0 then return 0, "ex" end
  if t.dtype:match "^i" and t:dim() >= 2 then return t:numel(), "tok" end
  return #t, "ex"
end

return Stream
