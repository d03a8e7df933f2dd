-- What the layers that amp.report saw need: f16 as it is, f16 with a scaled loss, the range of
-- bf16, or f32.
local FloatStats = require "rille.amp.float_stats"

local few = 0.01                          -- the share of gradients that may become 0
local f16_top, f16_bottom = 15, -25       -- exponents of the largest values; below this all is 0

local values = { "weights", "activations" }
local gradients = { "activation gradients", "weight gradients" }

local function largest(seen)
  return ("2^%d"):format(seen.stats.max_exponent)
end

-- Values that are infinite or nan already: the place to look first.
local function broken(layer)
  for _, kind in ipairs(values) do
    local seen = layer[kind]
    local bad = seen and seen.stats.inf + seen.stats.nan or 0
    if bad > 0 then
      return {
        rank = 1, share = bad / seen.stats.numel, dtype = "f32",
        text = ("%s hold %d inf and %d nan as they are: keep it in f32"):format(
          kind, seen.stats.inf, seen.stats.nan),
      }
    end
  end
end

local function too_large(layer)
  for _, kind in ipairs(values) do
    local seen = layer[kind]
    local share = seen and seen.stats.f16.overflow or 0
    if share > 0 then
      return {
        rank = 2, share = share, dtype = "bf16",
        text = ("%s reach %s, f16 ends at 65504: bf16, or keep it in f32"):format(
          kind, largest(seen)),
      }
    end
  end
end

-- The share that becomes 0 in f16 once everything is multiplied by 2^power.
local function flushed(stats, power)
  local lost, all = 0, 0
  for exponent, count in pairs(stats.exponents) do
    all = all + count
    if exponent + power < f16_bottom then lost = lost + count end
  end
  return lost / math.max(all, 1)
end

-- The largest power of two that a loss may be multiplied by: one bit is left above the largest
-- gradient of any layer.
local function largest_scale(layers)
  local power = math.huge
  for _, layer in ipairs(layers) do
    for _, kind in ipairs(gradients) do
      local top = layer[kind] and layer[kind].stats.max_exponent
      if top then power = math.min(power, f16_top - 1 - top) end
    end
  end
  return power
end

local function too_small(layer, power)
  for _, kind in ipairs(gradients) do
    local seen = layer[kind]
    local share = seen and seen.stats.f16.flush or 0
    if share > few then
      local told = ("f16 makes %s of its %s 0"):format(FloatStats.percent(share), kind)
      if flushed(seen.stats, power) > few then
        return {
          rank = 3, share = share, dtype = "bf16",
          text = told .. ", and no scale of the loss brings them all into its range: bf16",
        }
      end
      return {
        rank = 4, share = share, dtype = "f16", scaler = true,
        text = ("%s: scale the loss, by 2^%d at most"):format(told, power),
      }
    end
  end
end

-- The dtype for all, whether with a scaler, and the layers that need more than f16 as it is.
return function(layers)
  local list, dtype, scaler = {}, "f16", false
  local power = largest_scale(layers)
  for i, layer in ipairs(layers) do
    local found = broken(layer) or too_large(layer) or too_small(layer, power)
    if found then
      found.layer, found.order = layer.name, i
      list[#list + 1] = found
      if found.dtype ~= "f16" then dtype = "bf16" end
      scaler = scaler or found.scaler == true
    end
  end
  table.sort(list, function(a, b)
    if a.rank ~= b.rank then return a.rank < b.rank end
    local first = a.rank <= 2 or a.share == b.share      -- what is too large spreads from there
    if first then return a.order < b.order end
    return a.share > b.share
  end)
  return dtype, scaler and dtype == "f16", list
end
