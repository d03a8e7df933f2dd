-- How weights begin. Each function changes the tensor in place, outside of autograd, and returns
-- it.
local rille = require "rille"
local fail = require "rille.fail"
local read_only = require "rille.read_only"

local init = {}

-- What a unit sees and feeds: [out, in, kernel...].
local function fans(op, t)
  local shape = t:shape()
  if #shape < 2 then fail.argument(op, "needs two dims or more, got %d", #shape) end
  local field = 1
  for i = 3, #shape do field = field * shape[i] end
  return shape[2] * field, shape[1] * field
end

local gains = { tanh = 5 / 3, relu = 2 ^ 0.5, selu = 3 / 4 }

-- The factor that keeps the variance through a nonlinearity.
function init.calculate_gain(nonlinearity, slope)
  if nonlinearity == "leaky_relu" then return (2 / (1 + (slope or 0.01) ^ 2)) ^ 0.5 end
  return gains[nonlinearity] or 1.0
end

local function in_place(f)
  return function(t, ...)
    local _ <close> = rille.no_grad()
    f(t, ...)
    return t
  end
end

init.uniform_ = in_place(function(t, low, high) t:uniform_(low or 0.0, high or 1.0) end)
init.normal_ = in_place(function(t, mean, std) t:normal_(mean or 0.0, std or 1.0) end)
init.constant_ = in_place(function(t, value) t:fill_(value) end)
init.zeros_ = in_place(function(t) t:zero_() end)
init.ones_ = in_place(function(t) t:fill_(1) end)

init.eye_ = in_place(function(t)
  local rows, columns = t:size()
  t:copy_(rille.eye(rows, columns, { dtype = t.dtype, device = t.device }))
end)

-- A convolution that passes its input on: the middle of the kernel is one for equal channels.
init.dirac_ = in_place(function(t, groups)
  groups = groups or 1
  local shape = t:shape()
  if #shape < 3 then fail.argument("dirac_", "needs three dims or more, got %d", #shape) end
  t:zero_()
  local rows = shape[1] // groups
  for group = 0, groups - 1 do
    for i = 1, math.min(rows, shape[2]) do
      local place = { group * rows + i, i }
      for d = 3, #shape do place[d] = shape[d] // 2 + 1 end
      t[place] = 1
    end
  end
end)

-- Normal, redrawn outside [low, high]: by the inverse distribution, so that it takes one draw an
-- element.
init.trunc_normal_ = in_place(function(t, mean, std, low, high)
  mean, std = mean or 0.0, std or 1.0
  low, high = low or -2.0, high or 2.0
  local function cumulative(x)
    local z = rille.tensor((x - mean) / std / 2 ^ 0.5, { dtype = "f64" })
    return (1 + z:erf():item()) / 2
  end
  t:uniform_(2 * cumulative(low) - 1, 2 * cumulative(high) - 1)
  t:erfinv_():mul_(std * 2 ^ 0.5):add_(mean):clamp_(low, high)
end)

init.xavier_uniform_ = in_place(function(t, gain)
  local fan_in, fan_out = fans("xavier_uniform_", t)
  local bound = (gain or 1.0) * (6 / (fan_in + fan_out)) ^ 0.5
  t:uniform_(-bound, bound)
end)

init.xavier_normal_ = in_place(function(t, gain)
  local fan_in, fan_out = fans("xavier_normal_", t)
  t:normal_(0.0, (gain or 1.0) * (2 / (fan_in + fan_out)) ^ 0.5)
end)

local function kaiming_std(op, t, options)
  options = options or {}
  local fan_in, fan_out = fans(op, t)
  local fan = options.mode == "fan_out" and fan_out or fan_in
  local gain = init.calculate_gain(options.nonlinearity or "leaky_relu", options.slope or 0)
  return gain / fan ^ 0.5
end

-- Options: slope (of a leaky relu), mode ("fan_in" or "fan_out"), nonlinearity.
init.kaiming_uniform_ = in_place(function(t, options)
  local bound = 3 ^ 0.5 * kaiming_std("kaiming_uniform_", t, options)
  t:uniform_(-bound, bound)
end)

init.kaiming_normal_ = in_place(function(t, options)
  t:normal_(0.0, kaiming_std("kaiming_normal_", t, options))
end)

-- Orthonormal rows (or columns, where there are more rows); signs fixed so that it is uniform.
init.orthogonal_ = in_place(function(t, gain)
  local shape = t:shape()
  if #shape < 2 then fail.argument("orthogonal_", "needs two dims or more, got %d", #shape) end
  local rows = shape[1]
  local columns = t:numel() // rows
  local tall = rille.randn(math.max(rows, columns), math.min(rows, columns), { device = t.device })
  local q, r = tall:qr()
  q = q * r:diagonal():sign()
  if rows < columns then q = q:t() end
  t:copy_(q:reshape(shape)):mul_(gain or 1.0)
end)

return read_only("rille.nn.init", init)
