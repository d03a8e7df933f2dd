-- Turns positions into a batch; the same code in the main state and in workers, so that batches
-- don't depend on the number of workers. Random draws of an item come from a stream keyed by
-- (seed, epoch, position).
local fail = require "rille.fail"
local collate = require "rille.data.collate"
local random = require "rille.data.random"
local random_state = require "rille.random_state"

local function transformed(item, transform, position)
  if type(transform) == "function" then return transform(item) end
  if type(item) ~= "table" then
    fail.argument("Loader", "'transform' goes by field, but item %d is a %s", position, type(item))
  end
  for name, f in pairs(transform) do
    local value = item[name]
    if value == nil then
      fail.argument("Loader", "item %d has no field '%s' to transform", position, tostring(name))
    end
    item[name] = f(value)
  end
  return item
end

local function item_at(plan, position, epoch)
  random_state.seed(random.bits(plan.seed, epoch, position))
  local item = plan.set[position]
  if plan.transform then item = transformed(item, plan.transform, position) end
  return item
end

-- The batch in one go, where the dataset can and nothing is to be done to the items.
local function whole(plan, positions)
  local class = getmetatable(plan.set)
  local plain = not plan.transform and not plan.collate and type(positions) == "table"
  return plain and type(class) == "table" and class.collated and plan.set:collated(positions)
end

-- `plan` holds set, seed and may hold transform and collate; `progress.position` is the item at
-- work.
local function fetch(plan, positions, epoch, progress)
  local batch = whole(plan, positions)
  if batch then return batch end
  if type(positions) ~= "table" then
    progress.position = positions
    return item_at(plan, positions, epoch)
  end
  local items = {}
  for i, position in ipairs(positions) do
    progress.position = position
    items[i] = item_at(plan, position, epoch)
  end
  progress.position = nil
  return (plan.collate or collate.default)(items, positions)
end

-- In the main state: the streams of random numbers go on afterwards as if nothing had been drawn.
local function fetch_here(plan, positions, epoch)
  local batch = whole(plan, positions)
  if batch then return batch end
  local _ <close> = random_state.keep()
  return (fetch(plan, positions, epoch, {}))
end

return { fetch = fetch, fetch_here = fetch_here }
