-- Operators that read or write by ids or masks.

local m = require "map.call"
local op, by, R = m.op, m.by, m.rille

local map = m.each({}, {
    "gather", "index_add", "index_copy", "index_fill", "index_select", "index_put",
    "masked_scatter", "masked_select", "put", "scatter", "scatter_add", "take",
})

map["take_along_dim"] = op("take_along")
for _, way in ipairs { "amax", "amin", "mean", "prod" } do
    map["index_reduce." .. way] = by(function(c)
        local x, dim, ids, source, reduce = table.unpack(c.args, 1, 5)
        local shape = {}
        for d = 1, source:dim() do
            shape[d] = 1
        end
        dim = m.from_one(dim)
        if #shape > 0 then
            shape[dim > 0 and dim or #shape + dim + 1] = ids:numel()
        end
        local where = R.expand_as(R.reshape(R.cast(ids, "i64"), shape), source)
        return R.scatter_reduce(x, dim, where, source, { reduce = reduce,
            include_self = c.kwargs.include_self ~= false })
    end)
end
for _, way in ipairs { "amax", "amin", "mean", "prod", "sum" } do
    map["scatter_reduce." .. way] = op("scatter_reduce")
end

local function index_tensors(list)
    local ids = {}
    for i, item in ipairs(list) do
        if item == m.none or type(item) == "string" then
            m.not_mapped("an index with a gap")
        end
        ids[i] = m.is_tensor(item) and item or R.tensor(item, { dtype = "i64" })
    end
    return ids
end
map["__getitem__"] = by(function(c)
    local given = c.args[2]
    if type(given) == "table" and type(given[1]) == "number" then
        given = R.tensor(given, { dtype = "i64" }) -- torch reads a list of numbers as ids
    end
    return R.index(c.args[1], index_tensors(m.is_tensor(given) and { given } or given))
end)

-- Ids beyond the ends count as those at the ends; the mask says which results are meant.
local function clamped(c)
    local ids = {}
    for i, id in ipairs(index_tensors(c.args[3])) do
        local n = c.args[1]:size(i)
        ids[i] = R.clamp(id, { min = -n, max = n - 1 })
    end
    return ids
end
map["_unsafe_masked_index"] = by(function(c)
    local x, mask, _, fill = table.unpack(c.args, 1, 4)
    return R.masked_fill(R.index(x, clamped(c)), R.logical_not(mask), fill)
end)
map["_unsafe_masked_index_put_accumulate"] = by(function(c)
    local x, mask, _, values = table.unpack(c.args, 1, 4)
    return R.index_put(x, clamped(c), R.masked_fill(values, R.logical_not(mask), 0),
        { accumulate = true })
end)

return map
