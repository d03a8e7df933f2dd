-- Random choices that depend on a seed and a call's number only, so that one call can be repeated
-- alone. (SplitMix64; math.random belongs to the library and is part of what is being tested.)
local Dice = {}
Dice.__index = Dice

local function mixed(z)
  z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9
  z = (z ~ (z >> 27)) * 0x94d049bb133111eb
  return z ~ (z >> 31)
end

function Dice:bits()
  self.state = self.state + 0x9e3779b97f4a7c15
  return mixed(self.state)
end

-- 1 to n.
function Dice:int(n) return (self:bits() >> 1) % n + 1 end

function Dice:chance(p) return (self:bits() >> 11) * 2.0 ^ -53 < p end

function Dice:pick(list) return list[self:int(#list)] end

return function(seed, call)
  return setmetatable({ state = mixed(seed) + mixed(call * 0x632be59bd9b4e019) }, Dice)
end
