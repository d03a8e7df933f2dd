-- Reductions, scans, sorting and counting.

local m = require "map.call"
local op, R = m.op, m.rille

local map = m.each({}, {
    "all", "any", "amax", "amin", "aminmax", "argmax", "argmin", "argsort", "argwhere",
    "count_nonzero", "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "diff",
    "dist", "kthvalue", "logcumsumexp", "logsumexp", "mean", "median", "mode", "msort",
    "nanmean", "nanmedian", "nanquantile", "nansum", "prod", "quantile", "sort", "std", "std_mean",
    "sum", "topk", "trapezoid", "unique", "unique_consecutive", "var", "var_mean", "bincount",
    "bucketize", "histc",
})

-- Torch puts dims behind the correction of its older form: std(x, unbiased).
for _, name in ipairs { "std", "var", "std_mean", "var_mean" } do
    map[name .. ".unbiased"] = op(name, { order = { "x", "unbiased" } })
end

map["trapz"] = op("trapezoid")
map["max.reduction_no_dim"] = op("max")
map["max.reduction_with_dim"] = op("max")
map["min.reduction_no_dim"] = op("min")
map["min.reduction_with_dim"] = op("min")

-- norm(x, p, dims): "fro" is 2 over what is named, "nuc" a matter of singular values.
local function norm(name)
    return op(name, { before = function(c)
        local p = c.args[2]
        if p == nil or p == "fro" then
            c.args[2] = 2
            c.n = math.max(c.n, 2)
        elseif p == "nuc" then
            m.not_mapped("the nuclear norm")
        end
    end })
end
map["norm"] = norm "norm"
map["norm.fro"] = norm "norm"
map["norm.inf"] = norm "norm"
map["norm.nuc"] = norm "norm"
map["linalg.vector_norm"] = op("vector_norm")

map["searchsorted"] = op("searchsorted", { drop = { side = true }, before = function(c)
    if c.kwargs.sorter then
        c.args[1] = R.gather(c.args[1], -1, c.kwargs.sorter)
        c.kwargs.sorter = nil
    end
    if c.kwargs.side then
        c.kwargs.right = c.kwargs.side == "right"
    end
end })

map["nonzero"] = op("nonzero")

-- Torch's unstable order of equal elements is one of many; Rille's is stable.
for _, name in ipairs { "sort", "argsort" } do
    map[name] = op(name, { order = { "x", "dim", "descending" } })
end

return map
