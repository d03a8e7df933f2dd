-- What amp.autocast.explain gives: a list of calls, equal ones counted once. It prints as a table.
local columns = { "where", "op", "arguments", "result", "why" }

local function key_of(call)
  local parts = {}
  for i, name in ipairs(columns) do parts[i] = call[name] end
  return table.concat(parts, "\0")
end

local function merged(calls)
  local list, places = {}, {}
  for _, call in ipairs(calls) do
    local key = key_of(call)
    if places[key] then
      places[key].times = places[key].times + 1
    else
      call.times, places[key], list[#list + 1] = 1, call, call
    end
  end
  return list
end

local function cells(call)
  local row = {}
  for i, name in ipairs(columns) do row[i] = call[name] end
  if call.times > 1 then row[#row] = ("%s (%d times)"):format(row[#row], call.times) end
  return row
end

local function text(list)
  local rows, widths, lines = { columns }, {}, {}
  for _, call in ipairs(list) do rows[#rows + 1] = cells(call) end
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, utf8.len(cell) or #cell) end
  end
  for n, row in ipairs(rows) do
    local padded = {}
    for i, cell in ipairs(row) do
      padded[i] = cell .. (" "):rep(widths[i] - (utf8.len(cell) or #cell))
    end
    lines[n] = table.concat(padded, "  "):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

local Explained = { __name = "Explained", __tostring = text }

return function(calls)
  return setmetatable(merged(calls), Explained)
end
