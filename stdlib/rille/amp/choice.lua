-- Which of several timed dtypes to use, and why; the first is f32, which the others are held
-- against.
local gain = 1.05                         -- less is no reason to give up digits

local function off(row, base)
  if base.loss == 0 then return math.abs(row.loss) end
  return math.abs(row.loss - base.loss) / math.abs(base.loss)
end

-- Why a row is not to be had, or nil. Sets what it was judged by.
local function against(row, base, tolerance)
  if row.missing then return row.missing end
  row.speedup, row.off = base.seconds / row.seconds, off(row, base)
  if row.loss ~= row.loss or math.abs(row.loss) == math.huge then
    return ("its loss is %g"):format(row.loss)
  elseif not (row.off <= tolerance) then
    return ("its loss is %.3g %% off"):format(100 * row.off)
  elseif row.speedup < gain then
    return ("it is no faster: %.2f x"):format(row.speedup)
  end
end

-- rows: { dtype, seconds, loss } or { dtype, missing = why }. Returns the dtype and the reason;
-- each row but the first gets `verdict`. Where f16 gains little more than another dtype the other
-- wins: it needs no scaler.
return function(rows, tolerance)
  local base, best = rows[1], nil
  local reasons = {}
  for i = 2, #rows do
    local row = rows[i]
    local why = against(row, base, tolerance)
    row.verdict = why or ("%.2f x, loss %.3g %% off"):format(row.speedup, 100 * row.off)
    if why then
      reasons[#reasons + 1] = row.dtype .. ": " .. why
    elseif not best then
      best = row
    else
      local margin = row.dtype == "f16" and gain or best.dtype == "f16" and 1 / gain or 1
      if row.speedup > best.speedup * margin then best = row end
    end
  end
  if not best then return base.dtype, table.concat(reasons, "; ") end
  return best.dtype, ("%.2f times as fast as %s, with a loss %.3g %% off"):format(
    best.speedup, base.dtype, 100 * best.off)
end
