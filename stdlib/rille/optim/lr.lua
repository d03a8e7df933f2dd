-- Schedules by name: a curve tied to an optimizer.
local fail = require "rille.fail"
local Schedule = require "rille.optim.schedule"
local curves = require "rille.optim.curves"
local scheduled = require "rille.optim.scheduled"

-- One schedule after another; all but the last must have an end. The next one counts from 0. The
-- first one says whether they move after a skipped step.
--: ...: rille.optim.lr.Schedule -> rille.optim.lr.Schedule
local function chain(...)
  local parts = { ... }
  local count = select("#", ...)
  if count < 2 then fail.argument("chain", "needs two schedules or more, got %d", count) end
  for i = 1, count do
    local part = parts[i]
    if getmetatable(part) ~= Schedule then fail.type("chain", "#" .. i, "a schedule", part) end
    if part.optimizer ~= parts[1].optimizer then
      fail.argument("chain", "#%d is of another optimizer", i)
    end
    if i < #parts and not part.curve.length(part.options) then
      fail.argument("chain", "%s has no end, so it must be last", part.name)
    end
  end
  local curve = {
    rate = function(_, step, base)
      for i = 1, #parts - 1 do
        local length = parts[i].curve.length(parts[i].options)
        if step < length then return parts[i].curve.rate(parts[i].options, step, base) end
        step = step - length
      end
      return parts[#parts].curve.rate(parts[#parts].options, step, base)
    end,
    length = function()
      local total = 0
      for _, part in ipairs(parts) do
        local length = part.curve.length(part.options)
        if not length then return nil end
        total = total + length
      end
      return total
    end,
  }
  local options = { skip_aware = parts[1].options.skip_aware }
  return Schedule.new("chain", curve, parts[1].optimizer, options)
end

local lr = { chain = chain, Plateau = require "rille.optim.plateau".new }

for name, curve in pairs(curves) do lr[name] = scheduled(name, curve) end

return lr
