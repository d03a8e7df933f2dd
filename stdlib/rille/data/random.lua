-- Random integers for orders and windows by place (runtime/data/order.h): a value is a pure
-- function of (seed, stream, index), so nothing has to be stored to resume and workers need no
-- streams of their own.
local native = require "rille.native"

local random = {}

-- 63 random bits as an integer that is not negative.
random.bits = native.random_bits

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
  return native.permutation(seed, stream, n):tolist()
end

return random
