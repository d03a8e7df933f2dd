-- Counter-based random integers for orders and windows: a value is a pure function of (seed,
-- stream, index), so nothing has to be stored to resume and workers need no streams of their own.
-- The mixing function is splitmix64's finalizer (Steele, Lea, Flood: Fast splittable pseudorandom
-- number generators, 2014).
local random = {}

local function mix(x)
  x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
  x = (x ~ (x >> 27)) * 0x94d049bb133111eb
  return x ~ (x >> 31)
end

local golden = 0x9e3779b97f4a7c15

-- 63 random bits as an integer that is not negative.
function random.bits(seed, stream, index)
  local key = mix(seed + golden) ~ (stream * 0xd1342543de82ef95)
  return mix(mix(key + golden) + index * golden) >> 1
end

-- 1..n; the bias of the remainder is below n / 2^63.
function random.below(seed, stream, index, n)
  return random.bits(seed, stream, index) % n + 1
end

-- [0, 1) with 53 bits.
function random.uniform(seed, stream, index)
  return (random.bits(seed, stream, index) >> 10) * 2.0 ^ -53
end

-- The positions 1..n in random order.
function random.permutation(seed, stream, n)
  local order = {}
  for i = 1, n do order[i] = i end
  for i = n, 2, -1 do
    local j = random.below(seed, stream, i, i)
    order[i], order[j] = order[j], order[i]
  end
  return order
end

return random
