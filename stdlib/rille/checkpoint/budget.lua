-- policy = "budget": which results of a block's kernels are worth the memory. The first call of
-- each block warms up, the second measures each kernel; then a knapsack picks the results that save
-- the most time of the second run within the bytes that there are.
local native = require "rille.native"
local fail = require "rille.fail"

local budget = {}

local units = 1000                                       -- the capacity is counted in so many parts

-- Which of `items`, each with `bytes` and `seconds`, to take for the most seconds within `capacity`
-- bytes: a list of booleans. Exact but for rounding bytes up to a thousandth of the capacity.
function budget.pick(items, capacity)
  local picked, best, taken = {}, {}, {}
  for i = 1, #items do picked[i] = false end
  if capacity <= 0 then return picked end
  for room = 0, units do best[room] = 0 end
  for i, item in ipairs(items) do
    local cost = math.ceil(item.bytes / capacity * units)
    local took = {}
    for room = units, cost, -1 do
      local with = best[room - cost] + item.seconds
      if with > best[room] then best[room], took[room] = with, true end
    end
    taken[i] = took
  end
  local room = units
  for i = #items, 1, -1 do
    if taken[i][room] then
      picked[i] = true
      room = room - math.ceil(items[i].bytes / capacity * units)
    end
  end
  return picked
end

-- A block is told by its function, or the place where a function was written, and by what it is
-- given.
local function key_of(f, tensors)
  local parts = {}
  if type(f) == "function" then
    local info = debug.getinfo(f, "S")
    parts[1] = info.source .. ":" .. info.linedefined
  else
    parts[1] = ("%p"):format(f)
  end
  for _, t in ipairs(tensors) do
    parts[#parts + 1] = t.dtype .. "[" .. table.concat(t:shape(), ",") .. "]"
  end
  return table.concat(parts, " ")
end

local function capacity_of(o, figures)
  if math.type(o.budget) ~= "integer" and o.budget <= 1 then return o.budget * figures.tape end
  local left = o.budget - figures.inputs
  if left < 0 then
    fail.raise {
      kind = "argument", code = "E_ARG", op = "checkpointer",
      message = ("a budget of %d bytes is too small: the block's inputs alone take %d")
        :format(o.budget, figures.inputs),
      hint = "fewer, longer blocks keep fewer inputs",
    }
  end
  return left
end

-- Keeps the plan of a block, and what it says of memory and time.
local function plan(o, entry)
  local figures = entry.policy:figures()
  local kernels = entry.policy:kernels()
  local picked = budget.pick(kernels, capacity_of(o, figures))
  entry.kernels, entry.picked = kernels, picked
  entry.kept, entry.tape = figures.inputs, figures.tape
  local all, again = 0, 0
  for i, kernel in ipairs(kernels) do
    kernel.saved = picked[i]
    all = all + kernel.seconds
    if picked[i] then
      entry.kept = entry.kept + kernel.bytes
    else
      again = again + kernel.seconds
    end
  end
  -- A second run takes a little more than its kernels, and ends before the last ones.
  local whole = figures.seconds > 0 and all > 0 and figures.seconds / all or 1
  entry.seconds = again * whole
end

-- Two calls in which nothing is kept: the first warms up.
local measured = 2

function budget.new(o)
  local entries, order = {}, {}
  local self = {}

  -- The policy of the next call of f with these tensors.
  function self.policy(f, tensors)
    local key = key_of(f, tensors)
    local entry = entries[key]
    if not entry then
      local name = type(f) == "function" and key:match "^@?(%S*)" or tostring(f):match "^[^\n(]*"
      entry = { calls = 0, name = name }
      entries[key] = entry
      order[#order + 1] = entry
    end
    if entry.calls == measured and not entry.picked then plan(o, entry) end
    entry.calls = entry.calls + 1
    entry.policy = native.selection("plan", entry.picked or {})
    return entry.policy
  end

  -- What was chosen: for each block { name, kept, tape, seconds, measured = { kept, seconds },
  -- kernels = { { op, line, bytes, seconds, flops, saved } } }, in bytes and seconds.
  function self.report()
    local list = {}
    for i, entry in ipairs(order) do
      local now = entry.picked and entry.policy:figures()
      list[i] = {
        name = entry.name, kept = entry.kept, tape = entry.tape, seconds = entry.seconds,
        kernels = entry.kernels, measured = now and { kept = now.kept, seconds = now.seconds },
      }
    end
    return list
  end

  return self
end

return budget
