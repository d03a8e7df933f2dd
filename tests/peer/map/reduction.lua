-- Reductions, scans, sorting and counting.

local m = require "map.call"
local op, by, R = m.op, m.by, m.rille

local map = m.each({}, {
    "all", "any", "amax", "amin", "aminmax", "argmax", "argmin", "argsort", "argwhere",
    "count_nonzero", "cummax", "cummin", "cumprod", "cumsum", "cumulative_trapezoid", "diff",
    "dist", "kthvalue", "logsumexp", "mean", "median", "mode", "msort",
    "nanmean", "nanmedian", "nanquantile", "nansum", "prod", "quantile", "sort", "std", "std_mean",
    "sum", "topk", "trapezoid", "unique", "unique_consecutive", "var", "var_mean", "bincount",
    "bucketize", "histc",
})

-- Torch puts dims behind the correction of its older form: std(x, unbiased).
for _, name in ipairs { "std", "var", "std_mean", "var_mean" } do
    map[name .. ".unbiased"] = op(name, { order = { "x", "unbiased" } })
end

-- Torch's gradient takes exp(x - y), which rounds at the size of x.
map["logcumsumexp"] = op("logcumsumexp", { sums = true })
map["trapz"] = op("trapezoid")
map["max.reduction_no_dim"] = op("max")
map["max.reduction_with_dim"] = op("max")
map["min.reduction_no_dim"] = op("min")
map["min.reduction_with_dim"] = op("min")

-- norm(x, p, dims): "fro" is 2 over what is named, "nuc" a norm of matrices.
local plain_norm = op "norm"
local norm = by(function(c)
    local p = c.args[2] or c.kwargs.p
    if p == "nuc" then
        return R.matrix_norm(c.args[1], { ord = "nuc", keepdim = c.args[4] or c.kwargs.keepdim,
            dims = m.from_one(c.args[3] or c.kwargs.dim or { -2, -1 }) })
    end
    c.args[2], c.kwargs.p = p ~= "fro" and p or 2, nil
    c.n = math.max(c.n, 2)
    return plain_norm.run(c)
end)
for _, name in ipairs { "norm", "norm.fro", "norm.inf", "norm.nuc" } do
    map[name] = norm
end
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
map["nonzero_static"] = by(function(c)
    local found, size = R.nonzero(c.args[1]), c.kwargs.size or c.args[2]
    local rows = found:size(1)
    return R.pad(found, { 0, 0, 0, size - rows }, { value = c.kwargs.fill_value or -1 })
end)

-- Torch's unstable order of equal elements is one of many; Rille's is stable.
for _, name in ipairs { "sort", "argsort" } do
    map[name] = op(name, { order = { "x", "dim", "descending" } })
end

return map
