-- The settings that a plan goes through: precisions, and policies of checkpoint blocks.
local settings = require "rille.recipe.settings"

local choices = {}

local precisions = { "off", "bf16", "f16" }
local policies = { "cheap", "alternate_mm", "full" }

local function add_once(list, value)
  for _, there in ipairs(list) do
    if there == value then return end
  end
  list[#list + 1] = value
end

-- What a field or a flag says of blocks, each in one way: false where they are off.
local function policy_of(value)
  if value == nil or value == "off" or value == "false" then return false end
  if value == true or value == "true" then return "full" end
  return value
end

-- The policies to go through, blocks off the first.
local function policies_for(given, default)
  if given then return default and { false, default } or { false } end
  local list = { false, table.unpack(policies) }
  add_once(list, default)
  return list
end

-- A list of { amp, blocks, default }: the one of rille run is the default.
function choices.of(recipe, values)
  local fields = settings.apply(recipe, values)
  local amp, blocks = fields.amp or "off", policy_of(fields.checkpoint_blocks)
  local list = {}
  local wanted = values.amp and { values.amp } or { table.unpack(precisions) }
  add_once(wanted, amp)
  for _, precision in ipairs(wanted) do
    for _, policy in ipairs(policies_for(values.checkpoint_blocks ~= nil, blocks)) do
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
