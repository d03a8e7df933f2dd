-- What t:fpstats() gives: counts of the values of a tensor by kind and by power of two, and what
-- narrower formats would lose of them. Of several tensors they add up, so a layer's are as easily
-- had as a tensor's.
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"
local fail = require "rille.fail"

local formats = { "f16", "bf16", "f8_e4m3", "f8_e5m2" }
local kinds = { "numel", "zeros", "subnormals", "inf", "nan" }
local losses = { "flush", "underflow", "overflow" }

local FloatStats = class "FloatStats"

-- Finite values other than 0: what shares are shares of.
local function nonzero(self)
  return self.numel - self.zeros - self.inf - self.nan
end

local function set_shares(self)
  local n = math.max(nonzero(self), 1)
  for _, format in ipairs(formats) do
    local shares = {}
    for _, loss in ipairs(losses) do shares[loss] = self.counts[format][loss] / n end
    self[format] = shares
  end
  self.min_exponent, self.max_exponent = nil, nil
  for exponent in pairs(self.exponents) do
    self.min_exponent = math.min(exponent, self.min_exponent or exponent)
    self.max_exponent = math.max(exponent, self.max_exponent or exponent)
  end
  return self
end

-- Of nothing: to add to.
function FloatStats.empty()
  local self = { exponents = {}, counts = {} }
  for _, kind in ipairs(kinds) do self[kind] = 0 end
  for _, format in ipairs(formats) do
    self.counts[format] = { flush = 0, underflow = 0, overflow = 0 }
  end
  return set_shares(setmetatable(self, FloatStats))
end

function FloatStats.of(t)
  local told = native.float_stats(t)
  local self = { min = told.min, max = told.max, exponents = {}, counts = {} }
  for _, kind in ipairs(kinds) do self[kind] = told[kind] end
  for _, lost in ipairs(told.losses) do
    self.counts[lost.name] = {
      flush = lost.flush, underflow = lost.underflow, overflow = lost.overflow,
    }
  end
  for _, pair in ipairs(told.exponents) do self.exponents[pair[1]] = pair[2] end
  return set_shares(setmetatable(self, FloatStats))
end

-- Adds those of another tensor; returns itself.
function FloatStats:add(other)
  if getmetatable(other) ~= FloatStats then
    fail.type("FloatStats.add", "other", "what t:fpstats() gives", other)
  end
  for _, kind in ipairs(kinds) do self[kind] = self[kind] + other[kind] end
  for _, format in ipairs(formats) do
    local mine, more = self.counts[format], other.counts[format]
    for _, loss in ipairs(losses) do mine[loss] = mine[loss] + more[loss] end
  end
  for exponent, count in pairs(other.exponents) do
    self.exponents[exponent] = (self.exponents[exponent] or 0) + count
  end
  if other.min then
    self.min = math.min(self.min or other.min, other.min)
    self.max = math.max(self.max or other.max, other.max)
  end
  return set_shares(self)
end

-- "12.5 %", "< 0.1 %", or "-" for none.
function FloatStats.percent(share)
  check("FloatStats.percent", "share", share, { type = "number" })
  if share == 0 then return "-" end
  if share < 0.0005 then return "< 0.1 %" end
  return ("%.1f %%"):format(100 * share)
end

function FloatStats:__tostring()
  local line = ("%d values: %d zero, %d subnormal, %d inf, %d nan"):format(
    self.numel, self.zeros, self.subnormals, self.inf, self.nan)
  local lines = { line }
  if self.min then
    lines[2] = ("magnitudes from %.4g to %.4g, exponents %d to %d"):format(
      self.min, self.max, self.min_exponent, self.max_exponent)
  end
  lines[#lines + 1] = "would lose    becomes 0   subnormal or 0   beyond the largest"
  for _, format in ipairs(formats) do
    local shares = self[format]
    lines[#lines + 1] = ("  %-10s  %9s   %14s   %18s"):format(format,
      FloatStats.percent(shares.flush), FloatStats.percent(shares.underflow),
      FloatStats.percent(shares.overflow))
  end
  return table.concat(lines, "\n")
end

return FloatStats
