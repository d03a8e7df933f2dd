-- Sizes of memory as text: read, such as "8GiB", and shown.
local sizes = {}

local units = { B = 1, KiB = 2 ^ 10, MiB = 2 ^ 20, GiB = 2 ^ 30, TiB = 2 ^ 40 }
local shown = { "B", "KiB", "MiB", "GiB", "TiB" }

-- The bytes that a number or a text means; nil where it is not a size above 0.
function sizes.read(value)
  local number, unit = tonumber(value), "B"
  if not number and type(value) == "string" then
    local digits, word = value:match "^%s*([%d.]+)%s*(%a+)%s*$"
    number, unit = tonumber(digits), word
  end
  local bytes = number and units[unit] and number * units[unit]
  if not bytes or not (bytes >= 1 and bytes < 2 ^ 62) then return nil end
  return math.floor(bytes)
end

-- "428.8 MiB": about four digits.
function sizes.text(bytes)
  local n, unit = bytes, 1
  while n >= 1024 and unit < #shown do n, unit = n / 1024, unit + 1 end
  if unit == 1 then return ("%d B"):format(n) end
  return ("%." .. (n < 10 and 2 or 1) .. "f %s"):format(n, shown[unit])
end

return sizes
