-- torch.masked: reductions that leave masked elements out, composed of ops with a neutral fill.

local m = require "map.call"
local by, R = m.by, m.rille

local map = {}
local kInf = math.huge

local function filled(c, neutral)
    local mask = c.kwargs.mask
    return mask and R.where(mask, c.args[1], neutral) or c.args[1]
end

-- dim and keepdim; torch's {} and None are all dims.
local function options_of(c, at)
    local dims = c.kwargs.dim
    if dims == nil then
        dims = c.args[at or 2]
    end
    return { dims = m.from_one(dims), keepdim = c.kwargs.keepdim or false }
end

for name, neutral in pairs { sum = 0, amax = -kInf, amin = kInf, logsumexp = -kInf } do
    map["masked." .. name] = by(function(c)
        return R[name](filled(c, neutral), options_of(c))
    end)
end
for name, neutral in pairs { argmax = -kInf, argmin = kInf } do
    map["masked." .. name] = by(function(c)
        local given = options_of(c)
        local ids = R[name](filled(c, neutral), { dim = given.dims, keepdim = given.keepdim })
        return R.cast(ids, c.args[1].dtype) -- as torch.masked has it
    end)
end
for name, neutral in pairs { cumsum = 0, cumprod = 1, softmax = -kInf, log_softmax = -kInf } do
    map["masked." .. name] = by(function(c)
        return R[name](filled(c, neutral), m.from_one(c.args[2]))
    end)
end
local function norm(c, given)
    given.ord = c.args[2]
    return R.vector_norm(filled(c, c.args[2] == -kInf and kInf or 0), given)
end
map["masked.norm"] = by(function(c) return norm(c, options_of(c, 3)) end)
map["masked.normalize"] = by(function(c)
    local given = options_of(c, 3)
    given.keepdim = true
    return R.div(filled(c, 0), R.clamp_min(norm(c, given), c.kwargs.eps or 1e-12))
end)
-- Masked places are nan, which the median leaves out; torch's default keeps the dim.
map["masked.median"] = by(function(c)
    local keepdim = c.kwargs.keepdim or false
    return (R.nanmedian(filled(c, 0 / 0), { dim = m.from_one(c.args[2]), keepdim = keepdim }))
end)
map["masked.prod"] = by(function(c)
    local given, x = options_of(c), filled(c, 1)
    local dims = given.dims
    if type(dims) == "number" then
        dims = { dims }
    elseif not dims or #dims == 0 then
        dims = {}
        for d = 1, x:dim() do
            dims[d] = d
        end
    end
    -- Dims from the end, so that those before them keep their numbers.
    local count = math.max(x:dim(), 1)
    for i, d in ipairs(dims) do
        dims[i] = d < 0 and d + count + 1 or d
    end
    table.sort(dims, function(a, b) return a > b end)
    for _, d in ipairs(dims) do
        x = R.prod(x, { dim = d, keepdim = given.keepdim })
    end
    return x
end)
map["masked.logaddexp"] = by(function(c)
    local x, y = c.args[1], c.args[2]
    local x_mask, y_mask = c.kwargs.input_mask, c.kwargs.other_mask
    return R.logaddexp(x_mask and R.where(x_mask, x, -kInf) or x,
        y_mask and R.where(y_mask, y, -kInf) or y)
end)
map["masked.softmin"] = by(function(c)
    return R.softmax(R.neg(filled(c, kInf)), m.from_one(c.args[2]))
end)

-- How many elements each result is made of.
local function counts(c, given)
    local mask, x = c.kwargs.mask, c.args[1]
    local ones = R.ones_like(x:detach())
    return R.sum(mask and R.where(mask, ones, 0) or ones, given)
end
map["masked.mean"] = by(function(c)
    local given = options_of(c)
    return R.div(R.sum(filled(c, 0), given), counts(c, given))
end)

local function spread(c)
    local given = options_of(c)
    local keep = { dims = given.dims, keepdim = true }
    local mean = R.div(R.sum(filled(c, 0), keep), counts(c, keep))
    local apart = R.square(R.sub(c.args[1], mean))
    if c.kwargs.mask then
        apart = R.where(c.kwargs.mask, apart, 0)
    end
    local correction = c.kwargs.correction
    if correction == nil then
        correction = (c.kwargs.unbiased == false or c.args[3] == false) and 0 or 1
    end
    local n = R.clamp_min(R.sub(counts(c, given), correction), 0)
    return R.div(R.sum(apart, given), n)
end
map["masked.var"] = by(spread)
map["masked.std"] = by(function(c) return R.sqrt(spread(c)) end)

return map
