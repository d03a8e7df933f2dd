-- How weights begin. Each function changes the tensor in place, outside of autograd, and returns
-- it. Its options may be given by position or in a table: xavier_normal_(w, 2), or
-- xavier_normal_(w, { gain = 2 }).
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local fail = require "rille.fail"
local read_only = require "rille.read_only"
local read_options = require "rille.options"

local init = {}

local function by_name(known, ...)
  local given = {}
  for i, entry in ipairs(known) do given[entry[1]] = (select(i, ...)) end
  return given
end

local function read(op, known, ...)
  local count, first = select("#", ...), ...
  if count == 1 and type(first) == "table" then return read_options(op, first, known) end
  if count > #known then
    fail.argument(op, "takes at most %d arguments, got %d", #known + 1, count + 1)
  end
  return read_options(op, by_name(known, ...), known)
end

-- init[op](t, ...), where f gets the tensor and its options.
local function define(op, known, f)
  init[op] = function(t, ...)
    if not native.is_tensor(t) then fail.type(op, "t", "a tensor", t) end
    local o = read(op, known, ...)
    local _ <close> = rille.no_grad()
    f(t, o)
    return t
  end
end

local function needs_dims(op, shape, least)
  if #shape >= least then return end
  local words = { [2] = "two", [3] = "three" }
  fail.argument(op, "needs %s dims or more, got %d", words[least], #shape)
end

-- What a unit sees and feeds: [out, in, kernel...].
local function fans(op, t)
  local shape = t:shape()
  needs_dims(op, shape, 2)
  local field = 1
  for i = 3, #shape do field = field * shape[i] end
  return shape[2] * field, shape[1] * field
end

local gains = {
  linear = 1, conv1d = 1, conv2d = 1, conv3d = 1, conv_transpose1d = 1, conv_transpose2d = 1,
  conv_transpose3d = 1, sigmoid = 1, tanh = 5 / 3, relu = 2 ^ 0.5, selu = 3 / 4,
}

local nonlinearities = { "leaky_relu" }
for name in pairs(gains) do nonlinearities[#nonlinearities + 1] = name end
table.sort(nonlinearities)

local function gain_of(op, nonlinearity, slope)
  if nonlinearity == "leaky_relu" then return (2 / (1 + slope ^ 2)) ^ 0.5 end
  local gain = gains[nonlinearity]
  return gain or fail.unknown(op, "nonlinearity", nonlinearity, nonlinearities)
end

-- The factor that keeps the variance through a nonlinearity.
function init.calculate_gain(nonlinearity, slope)
  local op = "calculate_gain"
  check(op, "nonlinearity", nonlinearity, { type = "string" })
  return gain_of(op, nonlinearity, check(op, "slope", slope or 0.01, { type = "number" }))
end

define("uniform_", { { "low", 0.0 }, { "high", 1.0 } }, function(t, o)
  t:uniform_(o.low, o.high)
end)

define("normal_", { { "mean", 0.0 }, { "std", 1.0, min = 0 } }, function(t, o)
  t:normal_(o.mean, o.std)
end)

define("constant_", { { "value", type = "number|boolean", required = true } }, function(t, o)
  t:fill_(o.value)
end)

define("zeros_", {}, function(t) t:zero_() end)
define("ones_", {}, function(t) t:fill_(1) end)

define("eye_", {}, function(t)
  if t:dim() ~= 2 then fail.argument("eye_", "needs two dims, got %d", t:dim()) end
  local rows, columns = t:size()
  t:copy_(rille.eye(rows, columns, { dtype = t.dtype, device = t.device }))
end)

-- A convolution that passes its input on: the middle of the kernel is one for equal channels.
define("dirac_", { { "groups", 1, type = "integer", min = 1 } }, function(t, o)
  local groups, shape = o.groups, t:shape()
  needs_dims("dirac_", shape, 3)
  if shape[1] % groups ~= 0 then
    fail.argument("dirac_", "%d channels can't be cut into %d groups", shape[1], groups)
  end
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
define("trunc_normal_", {
  { "mean", 0.0 }, { "std", 1.0, above = 0 }, { "low", -2.0 }, { "high", 2.0 },
}, function(t, o)
  local mean, std, low, high = o.mean, o.std, o.low, o.high
  if not (low < high) then
    fail.argument("trunc_normal_", "'low' must be below 'high', got %g and %g", low, high)
  end
  local function cumulative(x)
    local z = rille.tensor((x - mean) / std / 2 ^ 0.5, { dtype = "f64" })
    return (1 + z:erf():item()) / 2
  end
  t:uniform_(2 * cumulative(low) - 1, 2 * cumulative(high) - 1)
  t:erfinv_():mul_(std * 2 ^ 0.5):add_(mean):clamp_(low, high)
end)

local gain = { { "gain", 1.0, min = 0 } }

define("xavier_uniform_", gain, function(t, o)
  local fan_in, fan_out = fans("xavier_uniform_", t)
  local bound = t:numel() > 0 and o.gain * (6 / (fan_in + fan_out)) ^ 0.5 or 0
  t:uniform_(-bound, bound)
end)

define("xavier_normal_", gain, function(t, o)
  local fan_in, fan_out = fans("xavier_normal_", t)
  t:normal_(0.0, t:numel() > 0 and o.gain * (2 / (fan_in + fan_out)) ^ 0.5 or 0)
end)

-- slope is that of a leaky relu.
local kaiming = {
  { "slope", 0.0 }, { "mode", "fan_in", type = '"fan_in"|"fan_out"' },
  { "nonlinearity", "leaky_relu" },
}

local function kaiming_std(op, t, o)
  local fan_in, fan_out = fans(op, t)
  local fan = o.mode == "fan_out" and fan_out or fan_in
  local factor = gain_of(op, o.nonlinearity, o.slope)
  return t:numel() > 0 and factor / fan ^ 0.5 or 0
end

define("kaiming_uniform_", kaiming, function(t, o)
  local bound = 3 ^ 0.5 * kaiming_std("kaiming_uniform_", t, o)
  t:uniform_(-bound, bound)
end)

define("kaiming_normal_", kaiming, function(t, o)
  t:normal_(0.0, kaiming_std("kaiming_normal_", t, o))
end)

-- Orthonormal rows (or columns, where there are more rows); signs fixed so that it is uniform.
define("orthogonal_", { { "gain", 1.0 } }, function(t, o)
  local shape = t:shape()
  needs_dims("orthogonal_", shape, 2)
  if t:numel() == 0 then return end
  local rows = shape[1]
  local columns = t:numel() // rows
  local tall = rille.randn(math.max(rows, columns), math.min(rows, columns), { device = t.device })
  local q, r = tall:qr()
  q = q * r:diagonal():sign()
  if rows < columns then q = q:t() end
  t:copy_(q:reshape(shape)):mul_(o.gain)
end)

return read_only("rille.nn.init", init)
