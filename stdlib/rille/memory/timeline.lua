-- The last large blocks that came and went (native.block_events) as layers over time: bytes by the
-- op and line that made them, at the fullest moment of each of `columns` parts of the time.
local native = require "rille.native"

local columns, named = 240, 7

local function owner_of(entry)
  if not entry.op and not entry.line then return "unknown" end
  return (entry.op or "made") .. (entry.line and " " .. entry.line or "")
end

-- Each block's owner, and what lived before the first event.
local function owners_of(events)
  local owner, made, before = {}, {}, {}
  for _, block in ipairs(native.live_blocks()) do
    owner[block.serial], before[block.serial] = owner_of(block), block.bytes
  end
  for _, e in ipairs(events) do
    if e.bytes > 0 then
      made[e.serial], before[e.serial] = true, nil
    elseif not made[e.serial] then
      before[e.serial] = -e.bytes
    end
    if e.bytes < 0 or not owner[e.serial] then owner[e.serial] = owner_of(e) end
  end
  return owner, before
end

-- Owners by their most bytes, the largest first.
local function ranked(events, owner, start)
  local now, most, list = {}, {}, {}
  local function see(name, bytes)
    now[name] = (now[name] or 0) + bytes
    if not most[name] then list[#list + 1] = name end
    most[name] = math.max(most[name] or 0, now[name])
  end
  for name, bytes in pairs(start) do see(name, bytes) end
  for _, e in ipairs(events) do see(owner[e.serial], e.bytes) end
  table.sort(list, function(a, b)
    if most[a] ~= most[b] then return most[a] > most[b] end
    return a < b
  end)
  return list, most
end

-- { seconds, names, most, columns = list of { total, allocated, [name index] = bytes } }, or nil
-- where nothing large has come or gone.
return function()
  local events = native.block_events()
  if not events[1] then return nil end
  local owner, before = owners_of(events)
  local start = {}
  for serial, bytes in pairs(before) do
    local name = owner[serial]
    start[name] = (start[name] or 0) + bytes
  end
  local list, most = ranked(events, owner, start)
  local index, names, sizes = {}, {}, {}
  for i, name in ipairs(list) do
    index[name] = math.min(i, named + 1)
    if i <= named then names[i], sizes[i] = name, most[name] end
  end
  if #list > named then names[named + 1] = "others" end
  local now, total = {}, 0
  for i = 1, #names do now[i] = 0 end
  local function add(name, bytes)
    local i = index[name]
    now[i], total = now[i] + bytes, total + bytes
  end
  for name, bytes in pairs(start) do add(name, bytes) end
  local first, parts = events[1].seconds, {}
  local span = math.max(events[#events].seconds - first, 1e-9)
  local function see(column, allocated)
    local have = parts[column]
    if have and have.total >= total then return end
    parts[column] = table.move(now, 1, #now, 1, { total = total, allocated = allocated })
  end
  local column, allocated = 1, events[1].allocated - math.max(events[1].bytes, 0)
  for _, e in ipairs(events) do
    local its = math.min(columns, 1 + math.floor((e.seconds - first) / span * columns))
    for c = column, its do see(c, allocated) end
    column = its
    add(owner[e.serial], e.bytes)
    allocated = e.allocated
    see(its, allocated)
  end
  return { seconds = span, names = names, most = sizes, columns = parts, events = #events }
end
