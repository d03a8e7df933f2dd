-- Tensors made from nothing, and what is drawn at random (compared by shape and dtype only).

local m = require "map.call"
local op, by, R = m.op, m.by, m.rille

local map = m.each({}, { "zeros", "ones", "full", "eye", "logspace", "zeros_like", "ones_like",
    "full_like", "tril_indices", "triu_indices" })

local function options(c, names)
    local result = {}
    for _, name in ipairs(names or { "dtype" }) do
        result[name] = c.kwargs[name]
    end
    return result
end

-- Rille's arange includes both ends (api.md), torch's stops before the end.
map["arange"] = by(function(c)
    local numbers = {}
    for i = 1, c.n do
        local v = c.args[i]
        numbers[i] = type(v) == "boolean" and (v and 1 or 0) or v
    end
    numbers[c.n + 1] = c.kwargs["end"]
    local first, last, step = table.unpack(numbers)
    if not last then
        first, last = 0, first
    end
    step = step or 1
    local count = math.ceil((last - first) / step)
    local given = options(c)
    given.step = step
    return R.arange(first, first + step * (count - 1), given)
end)

local function item(v)
    return m.is_tensor(v) and v:item() or v
end
for _, name in ipairs { "linspace", "logspace" } do
    local made = by(function(c)
        local given = options(c)
        given.base = c.args[4]
        return R[name](item(c.args[1]), item(c.args[2]), c.args[3], given)
    end)
    map[name], map[name .. ".tensor_overload"] = made, made
end

map["scalar_tensor"] = by(function(c) return R.full({}, c.args[1], options(c)) end)
for _, name in ipairs { "zeros", "ones", "full", "empty" } do
    map["new_" .. name] = by(function(c)
        local given = options(c)
        given.dtype = given.dtype or c.args[1].dtype
        if name == "full" then
            return R.full(c.args[2], c.args[3], given)
        end
        return R[name](c.args[2], given)
    end, name == "empty" and m.always or nil)
end
map["empty"] = op("empty", { random = m.always })
map["empty_like"] = op("empty_like", { random = m.always })
map["empty_permuted"] = by(function(c) return R.empty(c.args[1], options(c)) end, m.always)
map["empty_strided"] = map["empty_permuted"]
map["new_empty_strided"] = map["new_empty"]

m.each(map, { "rand", "randn", "rand_like", "randn_like", "bernoulli", "multinomial", "normal",
    "exponential", "uniform", "randperm" }, function(name)
    return op(name, { random = m.always })
end)

-- Rille's range has both ends, torch's lacks the upper one.
local function range(c, at)
    local low, high = c.args[at], c.args[at + 1]
    if type(high) ~= "number" then
        low, high = 0, low
    end
    return low, high - 1
end
map["randint"] = by(function(c)
    local low, high = range(c, 1)
    return R.randint(low, high, c.args[c.n], options(c))
end, m.always)
map["randint_like"] = by(function(c)
    local low, high = range(c, 2)
    return R.randint_like(c.args[1], low, high, options(c))
end, m.always)

-- Dropout draws only where p is neither 0 nor 1.
local function drawn(c)
    local p = c.kwargs.p or 0.5
    return c.kwargs.training ~= false and p > 0 and p < 1
end
for torch, name in pairs {
    ["dropout"] = "dropout", ["dropout1d"] = "dropout1d", ["dropout2d"] = "dropout2d",
    ["dropout3d"] = "dropout3d", ["alpha_dropout"] = "alpha_dropout",
    ["feature_alpha_dropout.with_train"] = "feature_alpha_dropout",
    ["feature_alpha_dropout.without_train"] = "feature_alpha_dropout",
} do
    local function before(c)
        if c.kwargs.training == nil and torch:find("alpha") then
            c.kwargs.training = false -- torch's default of these two
        end
    end
    local function random(c)
        before(c)
        return drawn(c)
    end
    map["nn.functional." .. torch] = op(name, { before = before, random = random,
        drop = { inplace = true } })
end

return map
