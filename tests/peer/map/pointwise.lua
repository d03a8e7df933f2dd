-- Elementwise operators: arithmetic, mathematics, comparison, activations, casts.

local m = require "map.call"
local op, by, R = m.op, m.by, m.rille

local map = m.each({}, {
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "deg2rad",
    "digamma", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "frac", "isfinite",
    "isinf", "isnan", "lgamma", "log", "log10", "log1p", "log2", "logical_not", "logit",
    "nan_to_num", "neg", "positive", "rad2deg", "reciprocal", "rsqrt", "sigmoid", "sign", "sin",
    "sinc", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "bitwise_not",
    "add", "sub", "mul", "rsub", "addcmul", "addcdiv", "atan2", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "copysign", "eq", "ne", "lt", "le",
    "gt", "ge", "float_power", "floor_divide", "fmax", "fmin", "fmod", "gcd", "lcm", "heaviside",
    "hypot", "isclose", "ldexp", "lerp", "logaddexp", "logaddexp2", "logical_and", "logical_or",
    "logical_xor", "maximum", "minimum", "nextafter", "pow", "remainder", "xlogy", "clamp",
    "clamp_min", "clamp_max", "clone", "contiguous", "masked_fill",
})

for _, name in ipairs { "allclose", "equal" } do
    local compared = op(name)
    map[name] = by(function(c)
        return R.full({}, compared.run(c) and 1 or 0, { dtype = "bool" })
    end)
end

map["angle"] = op("angle")
map["signbit"] = by(function(c)
    local x = c.args[1]
    return R.lt(R.copysign(R.ones_like(x), x), 0)
end)
map["isneginf"] = by(function(c) return R.eq(c.args[1], -math.huge) end)
map["true_divide"] = op("div")
map["div.no_rounding_mode"] = op("div")
map["div.floor_rounding"] = op("div")
map["div.trunc_rounding"] = op("div")
map["max.binary"] = op("maximum")
map["min.binary"] = op("minimum")
map["fill"] = op("fill")
map["alias_copy"] = op("clone")
map["where"] = op("where", { order = { "x", "condition", "y" } })
map["conj"] = by(function(c) return c.args[1] end)
map["conj_physical"] = map["conj"]
map["resolve_conj"] = map["conj"]
map["sgn"] = op("sign")
map["zero_"] = op("zeros_like")
map["item"] = by(function(c)
    local value = c.args[1]:item()
    local truth = type(value) == "boolean"
    return R.full({}, truth and (value and 1 or 0) or value, { dtype = c.args[1].dtype })
end)
map["hash_tensor"] = by(function() m.not_mapped("u64 is no dtype (api.md, Conventions)") end)
map["resolve_neg"] = map["conj"]
map["real"] = map["conj"]
map["isposinf"] = by(function(c) return R.eq(c.args[1], math.huge) end)
map["isreal"] = by(function(c) return R.ones_like(c.args[1], { dtype = "bool" }) end)
map["round.decimals_0"] = op("round")
map["round.decimals_3"] = op("round")
map["round.decimals_neg_3"] = op("round")
map["round"] = op("round")

-- Python's operators with the tensor on the right.
local kReflected = { __radd__ = "add", __rsub__ = "sub", __rmul__ = "mul", __rdiv__ = "div",
    __rpow__ = "pow", __rmod__ = "remainder", __rand__ = "bitwise_and", __ror__ = "bitwise_or",
    __rxor__ = "bitwise_xor" }
for name, target in pairs(kReflected) do
    map[name] = by(function(c) return R[target](c.args[2], c.args[1]) end)
end

local kCasts = { bfloat16 = "bf16", bool = "bool", byte = "u8", char = "i8", double = "f64",
    float = "f32", half = "f16", int = "i32", long = "i64", short = "i16" }
for name, dtype in pairs(kCasts) do
    map[name] = by(function(c) return R.cast(c.args[1], dtype) end)
end

-- The samples put n behind x. Near a pole torch's own trigamma is off by 2e-5: at -7.9505868 it
-- gives 412.75259, the reflection formula 412.74422.
for n = 0, 4 do
    map["polygamma.polygamma_n_" .. n] = op("polygamma", { order = { "x", "n" }, slack = 5 })
end
map["special.polygamma.special_polygamma_n_0"] = map["polygamma.polygamma_n_0"]

map["special.entr"] = by(function(c) return R.neg(R.xlogy(c.args[1], c.args[1])) end)
map["special.ndtr"] = by(function(c)
    return R.mul(R.erfc(R.mul(c.args[1], -math.sqrt(0.5))), 0.5)
end)
map["special.xlog1py"] = by(function(c) return R.xlogy(c.args[1], R.add(c.args[2], 1)) end)
map["isin"] = by(function(c)
    local x, among = c.args[1], c.args[2]
    local same = R.eq(R.unsqueeze(R.tensor(x), -1), R.flatten(R.tensor(among)))
    local found = R.any(same, -1)
    return c.kwargs.invert and R.logical_not(found) or found
end)

-- The logarithm of the multivariate gamma function, a sum of p ordinary ones.
for _, p in ipairs { 1, 3, 5 } do
    map["mvlgamma.mvlgamma_p_" .. p] = by(function(c)
        local x, count = c.args[1], c.args[2]
        local y = R.add(R.lgamma(x), count * (count - 1) / 4 * math.log(math.pi))
        for j = 1, count - 1 do
            y = R.add(y, R.lgamma(R.sub(x, j / 2)))
        end
        return y
    end)
end

for _, name in ipairs {
    "celu", "elu", "gelu", "glu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "leaky_relu", "logsigmoid", "mish", "relu", "relu6", "selu", "silu", "softplus", "softshrink",
    "softsign", "tanhshrink", "threshold", "prelu",
} do
    map["nn.functional." .. name] = op(name)
end

-- Rille's rrelu is the form that is not random.
map["nn.functional.rrelu"] = op("rrelu", { drop = { training = true }, before = function(c)
    if c.kwargs.training then
        m.not_mapped("the random form of rrelu")
    end
end })

local function softmax(name)
    return op(name, { drop = { _stacklevel = true } })
end
map["softmax"] = softmax "softmax"
map["softmax.with_dtype"] = softmax "softmax"
map["log_softmax"] = softmax "log_softmax"
map["log_softmax.with_dtype"] = softmax "log_softmax"
-- A row of nothing but -inf gives zeros here.
map["torch.ops.aten._safe_softmax.default"] = by(function(c)
    local x, dim = c.args[1], m.from_one(c.kwargs.dim)
    local dead = R.all(R.eq(x:detach(), -math.huge), { dims = dim, keepdim = true })
    return R.masked_fill(R.softmax(R.masked_fill(x, dead, 0), dim), dead, 0)
end)
map["nn.functional.softmin"] = by(function(c)
    local options = { dim = m.from_one(c.args[2]), dtype = c.kwargs.dtype }
    return R.softmax(R.neg(c.args[1]), options)
end)
map["nn.functional.softmin.with_dtype"] = map["nn.functional.softmin"]
map["_softmax_backward_data"] = by(function(c)
    local dy, y, dim = c.args[1], c.args[2], m.from_one(c.args[3])
    return R.mul(y, R.sub(dy, R.sum(R.mul(y, dy), { dims = dim, keepdim = true })))
end)

return map
