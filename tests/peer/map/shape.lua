-- Operators that look at, move, join or cut.

local m = require "map.call"
local op, by, R = m.op, m.by, m.rille

local map = m.each({}, {
    "as_strided", "broadcast_to", "cartesian_prod", "cat", "chunk",
    "combinations", "diag", "diag_embed", "diagflat", "diagonal", "diagonal_scatter", "dstack",
    "expand", "expand_as", "flatten", "flip", "hstack", "movedim", "narrow", "permute", "reshape",
    "roll", "rot90", "select", "select_scatter", "split", "squeeze", "stack",
    "swapaxes", "t", "tile", "transpose", "tril", "triu", "unbind", "unflatten", "unfold",
    "unsqueeze", "view", "view_as", "vstack", "block_diag",
})

for _, name in ipairs {
    "as_strided", "diagonal", "expand", "narrow", "permute", "squeeze", "t", "transpose", "unbind",
    "unfold", "unsqueeze", "view",
} do
    map[name .. "_copy"] = op(name, { after = m.contiguous })
end

map["as_strided.partial_views"] = by(function()
    m.not_mapped("the memory behind a view is not in a pack")
end)
map["linalg.diagonal"] = op("diagonal", { before = function(c)
    c.kwargs.dim1 = c.kwargs.dim1 or -2
    c.kwargs.dim2 = c.kwargs.dim2 or -1
end })
map["reshape_as"] = by(function(c) return R.reshape(c.args[1], c.args[2]:shape()) end)
map["ravel"] = op("flatten")
map["T"] = op("t")
map["mT"] = op("transpose")
map["mH"] = op("transpose")
map["H"] = op("t")
map["repeat_interleave"] = op("repeat_interleave", { drop = { output_size = true } })
map["fliplr"] = op("flip", { fixed = { dims = 2 } })
map["flipud"] = op("flip", { fixed = { dims = 1 } })
map["split.list_args"] = op("split")
map["unsafe_split"] = op("split")
map["unsafe_chunk"] = op("chunk")
map["split_with_sizes"] = op("split")
map["split_with_sizes_copy"] = op("split", { after = m.contiguous })
map["squeeze.multiple"] = by(function(c)
    local x = c.args[1]
    local count = x:dim()
    local dims = {}
    for i, dim in ipairs(c.args[2]) do
        dims[i] = dim < 0 and dim + count + 1 or dim + 1
    end
    table.sort(dims, function(a, b) return a > b end)
    for _, dim in ipairs(dims) do
        x = R.squeeze(x, dim)
    end
    return x
end)
-- `repeat` is a word of Lua; torch's takes as many counts as dims or more.
map["repeat"] = op("tile")
-- Torch gives the cotangent where its result is overwritten and zero elsewhere.
map["as_strided_scatter"] = op("as_strided_scatter", { wrong_there = { true } })
map["constant_pad_nd"] = by(function(c)
    return R.pad(c.args[1], c.args[2], { value = c.args[3] })
end)
for _, mode in ipairs { "constant", "circular", "reflect", "replicate", "replicate_negative" } do
    map["nn.functional.pad." .. mode] = op("pad")
end

-- Torch's end is past the last position from 0, Rille's `last` is the last position from 1.
local function span(c, at)
    local first, last = c.args[at + 1] or c.kwargs.start, c.args[at + 2] or c.kwargs["end"]
    if last and last < 0 then
        last = last - 1
    end
    local dim = m.from_one(c.args[at] or c.kwargs.dim or 0)
    local size = c.args[1]:size(dim)
    if last and last > size then
        last = size
    end
    return { dim = dim, first = first and m.from_one(first), last = last,
        step = c.args[at + 3] or c.kwargs.step }
end
map["slice"] = by(function(c) return R.slice(c.args[1], span(c, 2)) end)
map["slice_scatter"] = by(function(c)
    return R.slice_scatter(c.args[1], c.args[2], span(c, 3))
end)

-- Joins of a list that torch takes as separate arguments.
local function listed(name)
    return by(function(c)
        local list = m.is_tensor(c.args[1]) and c.args or c.args[1]
        if next(c.kwargs) then
            return R[name](list, c.kwargs)
        end
        return R[name](list)
    end)
end
map["block_diag"] = listed "block_diag"
map["cartesian_prod"] = listed "cartesian_prod"
map["broadcast_tensors"] = listed "broadcast_tensors"
map["meshgrid.list_of_tensors"] = listed "meshgrid"
map["meshgrid.variadic_tensors"] = listed "meshgrid"
map["column_stack"] = by(function(c)
    local columns = {}
    for i, x in ipairs(c.args[1]) do
        columns[i] = x:dim() < 2 and R.reshape(x, { -1, 1 }) or x
    end
    return R.cat(columns, 2)
end)

for d = 1, 3 do
    local name = "atleast_" .. d .. "d"
    map[name] = by(function(c)
        local list = m.is_tensor(c.args[1]) and c.args or c.args[1]
        local results = {}
        for i, x in ipairs(list) do
            results[i] = R[name](x)
        end
        return table.unpack(results)
    end)
end

-- A list of torch is of cuts, a number of sections.
local function tensor_split(dim_of)
    return by(function(c)
        local how = c.args[2]
        if m.is_tensor(how) then
            how = how:tolist()
        end
        local options = { dim = dim_of(c) }
        options[type(how) == "table" and "cuts" or "sections"] = how
        return R.tensor_split(c.args[1], options)
    end)
end
map["tensor_split"] = tensor_split(function(c) return m.from_one(c.args[3] or 0) end)
map["hsplit"] = tensor_split(function(c) return c.args[1]:dim() == 1 and 1 or 2 end)
map["vsplit"] = tensor_split(function() return 1 end)
map["dsplit"] = tensor_split(function() return 3 end)

map["sum_to_size"] = by(function(c)
    local x, size = c.args[1], c.args[2]
    if type(size) == "number" then
        size = table.move(c.args, 2, c.n, 1, {})
    end
    local shape, dims = x:shape(), {}
    local lead = #shape - #size
    for d = 1, #shape do
        if d <= lead or (size[d - lead] == 1 and shape[d] ~= 1) then
            dims[#dims + 1] = d
        end
    end
    if #dims > 0 then
        x = R.sum(x, { dims = dims, keepdim = true })
    end
    return R.reshape(x, size)
end)
local function half_turn(sign)
    return by(function(c)
        local x, dims, shifts = c.args[1], c.kwargs.dim, {}
        if not dims then
            dims = {}
            for d = 1, x:dim() do
                dims[d] = d - 1
            end
        end
        dims = m.from_one(type(dims) == "number" and { dims } or dims)
        for i, d in ipairs(dims) do
            shifts[i] = sign * (x:size(d) // 2)
        end
        return R.roll(x, shifts, { dims = dims })
    end)
end
map["fft.fftshift"] = half_turn(1)
map["fft.ifftshift"] = half_turn(-1)
for _, name in ipairs { "pixel_shuffle", "pixel_unshuffle", "channel_shuffle" } do
    map["nn.functional." .. name] = op(name)
end

return map
