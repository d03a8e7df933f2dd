-- The settings that a plan goes through: precisions, and policies of checkpointed blocks.
local settings = require "rille.recipe.settings"

local choices = {}

local precisions = { "off", "bf16", "f16" }
local policies = { "cheap", "alternate_mm", "full" }

-- Whether this Rille can checkpoint blocks.
local function can_checkpoint()
  return (pcall(require, "rille.recipe.blocks"))
end

local function add_once(list, value)
  for _, there in ipairs(list) do
    if there == value then return end
  end
  list[#list + 1] = value
end

-- The policies to go through, blocks off the first; `given` is the flag's.
local function policies_available(given, default)
  if given ~= nil and given ~= false then return { false, given } end
  local list = { false }
  if not can_checkpoint() then return list end
  for _, name in ipairs(policies) do list[#list + 1] = name end
  add_once(list, default)
  return list
end

-- A list of { amp, blocks, default }: the one of rille run is the default. `blocks` is false where
-- they are off.
function choices.of(recipe, values)
  local fields = settings.apply(recipe, values)
  local amp, blocks = fields.amp or "off", fields.checkpoint_blocks or false
  local given = rawget(values, "checkpoint_blocks")
  if given ~= nil then blocks = given == "off" and false or given end
  local list = {}
  local wanted = values.amp and { values.amp } or { table.unpack(precisions) }
  add_once(wanted, amp)
  for _, precision in ipairs(wanted) do
    for _, policy in ipairs(policies_available(given ~= nil and blocks or nil, blocks)) do
      list[#list + 1] = {
        amp = precision, blocks = policy, default = precision == amp and policy == blocks,
      }
    end
  end
  return list
end

-- The row that fits into so many bytes with the fewest operations, the recipe's own precision
-- before others; nil where none fits. And the smallest row.
function choices.cheapest(rows, bytes)
  local best, smallest, own = nil, rows[1], nil
  for _, row in ipairs(rows) do
    if row.default then own = row.amp end
  end
  local function is_better(row)
    if not best or row.flops ~= best.flops then return not best or row.flops < best.flops end
    return row.amp == own and best.amp ~= own
  end
  for _, row in ipairs(rows) do
    if row.peak < smallest.peak then smallest = row end
    if row.peak <= bytes and is_better(row) then best = row end
  end
  return best, smallest
end

return choices
