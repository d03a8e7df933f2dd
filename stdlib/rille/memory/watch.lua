-- rille.memory.watch: the search for what keeps graphs alive from step to step, such as
-- total = total + loss. At the end of each step garbage is collected and the graphs are walked that
-- the script's tensors lead to; what an earlier step recorded has to be gone by then.
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"
local watching = require "rille.watching"

local MemoryWatch = class "MemoryWatch"

local steps_seen = 8                                     -- ends of steps that are remembered
local rises = 3                                          -- so often in a row it is no accident

local function text_of(found)
  local where = found.line and found.line .. ": " or ""
  if not found.used_by then
    return ("W_GRAPH_GROWS: %s%s: %d results of earlier steps are kept, each with its graph; \z
      keep x:item() or x:detach()"):format(where, found.op, found.count)
  end
  local user = found.used_by .. (found.used_at and " at " .. found.used_at or "")
  return ("W_GRAPH_GROWS: %s%s: its result is used in the next step, by %s, so the graphs of all \z
    steps stay alive; use x:item() or x:detach() there"):format(where, found.op, user)
end

-- How often the count of old nodes has grown, without having fallen since.
local function grown(counts)
  local n = 0
  for i = 2, #counts do
    if counts[i] > counts[i - 1] then n = n + 1 end
    if counts[i] < counts[i - 1] then n = 0 end
  end
  return n
end

local function look(self)
  collectgarbage()
  collectgarbage()                                       -- what the first has finalized
  local marks, counts = self.marks, self.counts
  marks[#marks + 1] = native.last_node()
  if #marks > steps_seen then table.remove(marks, 1) end
  local graphs = native.graphs(marks)
  counts[#counts + 1] = graphs.old
  if #counts > steps_seen then table.remove(counts, 1) end
  if grown(counts) < rises or not graphs.keepers[1] then return end
  self.found = graphs.keepers[1]
  warn(text_of(self.found))
end

-- A step has ended. Optimizers say so themselves; for a loop without one, or whose steps are more
-- than the optimizer's. Only these count from the first call on.
function MemoryWatch:step()
  self.by_hand = true
  if not self.found and not self.ended then look(self) end
end

-- An optimizer has taken a step.
local function stepped(self)
  if not self.by_hand and not self.found then look(self) end
end

local function finish(self)
  if self.ended then return end
  self.ended = true
  native.mode("lines_of_nodes", self.lines_before)
  if watching.current == self.stepped then watching.current = self.outer end
end

MemoryWatch.__close = finish

function MemoryWatch:close()
  finish(self)
end

function MemoryWatch:__tostring()
  local found = self.found
  return ("MemoryWatch (%s)"):format(
    found and "found " .. native.shown((found.line or "?") .. ": " .. found.op)
      or self.ended and "ended" or "nothing found")
end

--: -> rille.memory.MemoryWatch
function MemoryWatch.new()
  local self = setmetatable({
    marks = { native.last_node() }, counts = {}, outer = watching.current,
    lines_before = native.mode "lines_of_nodes",
  }, MemoryWatch)
  native.mode("lines_of_nodes", true)
  self.stepped = function() stepped(self) end
  watching.current = self.stepped
  return self
end

function MemoryWatch.run(fn, ...)
  if fn ~= nil then check("watch", "fn", fn, { type = "fun" }) end
  local self = MemoryWatch.new()
  if fn == nil then return self end
  local _ <close> = self
  return fn(...)
end

return MemoryWatch
