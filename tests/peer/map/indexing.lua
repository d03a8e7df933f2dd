-- Operators that read or write by ids or masks.

local m = require "map.call"
local op, by, R = m.op, m.by, m.rille

local map = m.each({}, {
    "gather", "index_add", "index_copy", "index_fill", "index_select", "index_put",
    "masked_scatter", "masked_select", "put", "scatter", "scatter_add", "take",
})

map["take_along_dim"] = op("take_along")
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
    return R.index(c.args[1], index_tensors(m.is_tensor(given) and { given } or given))
end)

return map
