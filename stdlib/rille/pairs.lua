-- rille.pairs(t): pairs in the order of the keys, which is the same in every run: numbers, strings
-- and booleans, each from the smallest.
local fail = require "rille.fail"

local rank = { number = 1, string = 2, boolean = 3 }

local function before(a, b)
  local first, second = type(a), type(b)
  if first ~= second then return rank[first] < rank[second] end
  if first == "boolean" then return not a and b end
  return a < b
end

return function(t)
  local meta = getmetatable(t)
  local iterable = type(t) == "table" or type(meta) == "table" and meta.__pairs
  if not iterable then fail.type("pairs", "t", "a table", t) end
  local keys = {}
  for key in pairs(t) do
    if not rank[type(key)] then
      fail.argument("pairs", "%s as a key has no order", fail.describe(key))
    end
    keys[#keys + 1] = key
  end
  table.sort(keys, before)
  local i = 0
  return function()
    local value
    repeat                                               -- what was removed meanwhile is left out
      i = i + 1
      if keys[i] == nil then return nil end
      value = t[keys[i]]
    until value ~= nil
    return keys[i], value
  end
end
