-- A dataset's items at some positions, and data.split, which cuts a dataset into parts.
local check = require "rille.check"
local class = require "rille.class"
local fail = require "rille.fail"
local random = require "rille.data.random"
local read_options = require "rille.options"
local check_set = require "rille.data.check_set"
local samplers = require "rille.data.samplers"

local Subset = class "data.subset"
local methods = Subset.__index

-- The items at some positions: or a table { first = , last = } for a stretch.
--: set: rille.data.Set, positions: integer[]|table -> rille.data.Set
function Subset.new(set, positions)
  check_set("subset", "set", set)
  check("subset", "positions", positions, { type = "table" })
  if positions.first then
    check("subset", "positions.first", positions.first, { type = "integer", min = 1 })
    check("subset", "positions.last", positions.last, { type = "integer", max = #set })
  else
    positions = samplers.check_numbers("subset", "positions", positions)
  end
  local self = { set = set, positions = positions, first = positions.first }
  self.count = self.first and positions.last - positions.first + 1 or #positions
  return setmetatable(self, Subset)
end

function Subset:position(i)
  if math.type(i) ~= "integer" then
    i = check("subset.position", "i", i, { type = "integer" })
  end
  if i < 1 or i > self.count then
    fail.raise {
      kind = "argument", code = "E_INDEX", op = "subset",
      message = ("position %d is outside 1..%d"):format(i, self.count),
    }
  end
  return self.first and self.first + i - 1 or self.positions[i]
end

function Subset:collated(positions)
  check("subset.collated", "positions", positions, { type = "table" })
  local set, kind = self.set, getmetatable(self.set)
  if type(kind) ~= "table" or not kind.collated then return nil end
  local there = {}
  for i, position in ipairs(positions) do there[i] = self:position(position) end
  return set:collated(there)
end

function Subset:__index(key)
  if math.type(key) ~= "integer" then return methods[key] end
  return self.set[self:position(key)]
end

function Subset:__len()
  return self.count
end

-- Sizes of the parts: fractions of 1, or counts that add up.
local function bounds(n, fractions)
  local sum, ends = 0, {}
  for _, fraction in ipairs(fractions) do sum = sum + fraction end
  local counts = math.type(sum) == "integer" and sum == n
  if not counts and math.abs(sum - 1) > 1e-6 then
    fail.argument("split", "fractions add up to %g, not to 1 (nor to %d items)", sum, n)
  end
  local reached = 0
  for i, fraction in ipairs(fractions) do
    reached = reached + fraction
    ends[i] = counts and reached or math.floor(reached * n + 0.5)
  end
  return ends
end

-- Returns one dataset a fraction: contiguous stretches unless shuffled.
--: set: rille.data.Set, fractions: number[] -> rille.data.Set ...
function Subset.split(set, fractions, options)
  options = read_options("split", options, {
    { "shuffle", false, doc = "random items" }, { "seed", 0, type = "integer", doc = "of them" },
  })
  check_set("split", "set", set)
  fractions = samplers.check_numbers("split", "fractions", fractions)
  for i, fraction in ipairs(fractions) do
    check("split", ("fractions[%d]"):format(i), fraction, { min = 0 })
  end
  local parts, first = {}, 1
  local order = options.shuffle and random.permutation(options.seed, 0, #set)
  for i, last in ipairs(bounds(#set, fractions)) do
    local place = order and table.move(order, first, last, 1, {}) or { first = first, last = last }
    parts[i] = Subset.new(set, place)
    first = last + 1
  end
  return table.unpack(parts)
end

return Subset
