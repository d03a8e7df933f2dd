-- The known name that a misspelt one was most likely meant to be.

-- Edits (insert, remove, replace, swap of neighbours) that turn `a` into `b`.
local function distance(a, b)
  local before, row = {}, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local last = before
    before, row = row, { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(before[j] + 1, row[j - 1] + 1, before[j - 1] + cost)
      local swapped = i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j)
      if swapped then row[j] = math.min(row[j], last[j - 2] + 1) end
    end
  end
  return row[#b]
end

-- Of equally near names the first in alphabetical order; nil when none is near.
return function(name, known)
  name = tostring(name)
  local best, best_distance = nil, math.max(1, #name // 3) + 1
  for _, candidate in ipairs(known) do
    local edits = distance(name:lower(), candidate:lower())
    if edits < best_distance or (edits == best_distance and best and candidate < best) then
      best, best_distance = candidate, edits
    end
  end
  return best
end
