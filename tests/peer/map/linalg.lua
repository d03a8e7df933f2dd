-- Products and linear algebra.

local m = require "map.call"
local op, by, R = m.op, m.by, m.rille

local map = m.each({}, {
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "dot", "inner", "kron", "matmul", "mm",
    "mv", "outer", "vdot", "cross", "cholesky_inverse", "cholesky_solve", "logdet",
    "trace", "matrix_exp", "chain_matmul", "pinverse",
})

map["addmm.decomposed"] = op("addmm")
map["bmm.triton_optimized"] = op("bmm")
map["__rmatmul__"] = by(function(c) return R.matmul(c.args[2], c.args[1]) end)
map["einsum"] = by(function(c) return R.einsum(c.args[2], c.args[1]) end)
map["tensordot"] = by(function(c)
    local dims = c.kwargs.dims or c.args[3]
    if type(dims) == "table" then
        return R.tensordot(c.args[1], c.args[2], { x_dims = m.from_one(dims[1]),
            y_dims = m.from_one(dims[2]) })
    end
    return R.tensordot(c.args[1], c.args[2], { dims = dims })
end)
map["linalg.multi_dot"] = op("multi_dot")
map["linalg.vecdot"] = op("vecdot")
map["cdist"] = by(function(c) return R.cdist(c.args[1], c.args[2], { p = c.args[3] }) end)
map["nn.functional.pairwise_distance"] = op("pairwise_distance")
map["nn.functional.pdist"] = op("pdist")
map["linalg.vander"] = op("vander", { rename = { N = "n" }, fixed = { increasing = true } })
map["nn.functional.cosine_similarity"] = op("cosine_similarity")
map["nn.functional.linear"] = op("linear")
map["nn.functional.bilinear"] = op("bilinear")

map["linalg.cross"] = op("cross", { before = function(c) c.kwargs.dim = c.kwargs.dim or -1 end })
map["linalg.pinv"] = op("pinverse", { rename = { rtol = "rcond" } })
map["linalg.inv"] = op("inverse")
for _, name in ipairs { "det", "slogdet", "solve", "solve_triangular", "cholesky", "matrix_norm",
    "matrix_power", "matrix_rank", "svdvals" } do
    map["linalg." .. name] = op(name)
end
map["linalg.eigvalsh"] = op("eigvalsh", { drop = { UPLO = true } })

-- Vectors of a decomposition may have either sign.
map["linalg.eigh"] = op("eigh", { drop = { UPLO = true }, either_sign = true })
map["linalg.qr"] = op("qr", { either_sign = true })
map["linalg.svd"] = op("svd", { either_sign = true, before = function(c)
    if c.kwargs.full_matrices and c.args[1]:size(-1) ~= c.args[1]:size(-2) then
        m.not_mapped("vectors of the null space are free")
    end
end })

-- The forms that report failure in a second result; the samples are all regular.
local function with_info(name)
    local plain = op(name)
    return by(function(c)
        local shape = c.args[1]:shape()
        local info = R.zeros(table.move(shape, 1, #shape - 2, 1, {}), { dtype = "i32" })
        return plain.run(c), info
    end)
end
map["linalg.inv_ex"] = with_info "inverse"
map["linalg.solve_ex"] = with_info "solve"
map["linalg.cholesky_ex"] = with_info "cholesky"

map["triangular_solve"] = by(function(c)
    return op("triangular_solve").run(c), R.clone(c.args[2])
end)

-- linalg.norm(x, ord, dims): of vectors unless there are two dims and an order.
map["linalg.norm"] = by(function(c)
    local x, ord = c.args[1], c.args[2]
    local dims = c.args[3] or c.kwargs.dim
    local given = { ord = ord, dims = m.from_one(dims), keepdim = c.kwargs.keepdim }
    local matrix = ord ~= nil and (type(dims) == "table" and #dims == 2 or
        dims == nil and x:dim() == 2)
    return R[matrix and "matrix_norm" or "vector_norm"](x, given)
end)
map["linalg.norm.subgradients_at_zero"] = map["linalg.norm"]

return map
