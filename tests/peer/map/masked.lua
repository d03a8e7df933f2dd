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
local function options_of(c)
    local dims = c.kwargs.dim
    if dims == nil then
        dims = c.args[2]
    end
    if type(dims) == "table" and #dims == 0 then
        dims = nil
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
map["masked.norm"] = by(function(c)
    local given = { dims = m.from_one(c.kwargs.dim), keepdim = c.kwargs.keepdim or false,
        ord = c.args[2] }
    if type(given.dims) == "table" and #given.dims == 0 then
        given.dims = nil
    end
    return R.vector_norm(filled(c, c.args[2] == -kInf and kInf or 0), given)
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

return map
