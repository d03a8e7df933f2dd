-- The scale of one loss by Apex's rules: it halves at an overflow and doubles after 2000 passes
-- without one. A static one stays, and skips no step.
local class = require "rille.class"

local first, window = 2.0 ^ 16, 2000

local LossScaler = class "LossScaler"

-- `loss_scale` is a number or "dynamic"; `least` may be nil.
function LossScaler.new(loss_scale, least, most)
  local dynamic = loss_scale == "dynamic"
  return setmetatable({
    dynamic = dynamic, least = least, most = most, unskipped = 0,
    scale = dynamic and math.min(most, first) or loss_scale,
  }, LossScaler)
end

-- After a pass; returns whether the step must be left out.
function LossScaler:update(overflow)
  if overflow and self.dynamic then
    self.scale = self.scale / 2
    if self.least then self.scale = math.max(self.least, self.scale) end
    self.unskipped = 0
    return true
  end
  self.unskipped = self.unskipped + 1
  if self.dynamic and self.unskipped == window then
    self.scale = math.min(self.most, self.scale * 2)
    self.unskipped = 0
  end
  return false
end

return LossScaler
