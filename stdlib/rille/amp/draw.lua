-- Histograms of powers of two as text: a column an exponent (or a few), a row a set of values, and
-- above them what the formats can hold.
local FloatStats = require "rille.amp.float_stats"

-- Exponents from which on a format holds values: as subnormals, with all digits; and its largest.
local ranges = {
  { "f16", -24, -14, 15 }, { "bf16", -133, -126, 127 },
  { "f8_e4m3", -9, -6, 8 }, { "f8_e5m2", -16, -14, 15 },
}
local ramp = ".:-=+*#@"
local most_columns, tick = 64, 8

-- The exponents to show: where values are, and at least where f16 is.
local function axis_of(rows)
  local low, high = -24, 15
  for _, row in ipairs(rows) do
    low = math.min(low, row.stats.min_exponent or low)
    high = math.max(high, row.stats.max_exponent or high)
  end
  local each = math.ceil((high - low + 1) / most_columns)
  low = low // (each * tick) * each * tick               -- so that a tick is the first
  return { low = low, each = each, columns = (high - low) // each + 1 }
end

local function tick_line(axis)
  local line = ""
  for column = 0, axis.columns - 1, tick do
    local text = "2^" .. axis.low + column * axis.each
    line = line .. (" "):rep(column - #line) .. text
  end
  return line
end

local function range_line(axis, range)
  local cells = {}
  for column = 1, axis.columns do
    local exponent = axis.low + (column - 1) * axis.each
    local inside = exponent >= range[2] and exponent <= range[4]
    cells[column] = not inside and " " or exponent < range[3] and "-" or "="
  end
  return table.concat(cells)
end

local function value_line(axis, stats)
  local counts, highest, cells = {}, 0, {}
  for exponent, count in pairs(stats.exponents) do
    local column = (exponent - axis.low) // axis.each + 1
    counts[column] = (counts[column] or 0) + count
    highest = math.max(highest, counts[column])
  end
  for column = 1, axis.columns do
    local count = counts[column]
    local level = count and math.max(1, math.ceil(count / highest * #ramp))
    cells[column] = level and ramp:sub(level, level) or " "
  end
  return table.concat(cells)
end

local function losses_text(stats, format)
  local lost, parts = stats[format], {}
  if lost.flush > 0 then parts[1] = FloatStats.percent(lost.flush) .. " to 0" end
  if lost.overflow > 0 then
    parts[#parts + 1] = FloatStats.percent(lost.overflow) .. " beyond"
  end
  if stats.inf + stats.nan > 0 then
    parts[#parts + 1] = ("%d inf, %d nan"):format(stats.inf, stats.nan)
  end
  return table.concat(parts, ", ")
end

-- `rows` is a list of { label, stats }; `format` the one whose losses stand at the right.
return function(rows, format)
  local axis, width = axis_of(rows), #"f8_e5m2"
  for _, row in ipairs(rows) do width = math.max(width, #row.label) end
  local lines = {}
  local function add(label, line, note)
    local text = ("%-" .. width .. "s |%-" .. axis.columns .. "s| %s"):format(label, line, note)
    lines[#lines + 1] = (text:gsub("%s+$", ""))
  end
  lines[1] = (" "):rep(width + 2) .. tick_line(axis)
  for _, range in ipairs(ranges) do add(range[1], range_line(axis, range), "") end
  for _, row in ipairs(rows) do
    add(row.label, value_line(axis, row.stats), losses_text(row.stats, format))
  end
  lines[#lines + 1] = ("=  all digits   -  fewer digits   right: what %s loses"):format(format)
  return table.concat(lines, "\n")
end
