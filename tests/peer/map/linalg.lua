-- Products and linear algebra.

local m = require "map.call"
local op, by, R = m.op, m.by, m.rille

local map = m.each({}, {
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "dot", "inner", "kron", "matmul", "mm",
    "mv", "outer", "vdot", "tensordot", "cross", "cholesky_inverse", "cholesky_solve", "logdet",
    "trace", "cdist", "geqrf", "matrix_exp", "ger", "chain_matmul",
})

map["addmm.decomposed"] = op("addmm")
map["bmm.triton_optimized"] = op("bmm")
map["__rmatmul__"] = by(function(c) return R.matmul(c.args[2], c.args[1]) end)
map["einsum"] = by(function(c) return R.einsum(c.args[2], c.args[1]) end)
map["linalg.multi_dot"] = op("multi_dot")
map["linalg.vecdot"] = op("vecdot")
map["cdist"] = by(function(c) return R.cdist(c.args[1], c.args[2], { p = c.args[3] }) end)
map["nn.functional.pairwise_distance"] = op("pairwise_distance")
map["nn.functional.cosine_similarity"] = op("cosine_similarity")
map["nn.functional.linear"] = op("linear")
map["nn.functional.bilinear"] = op("bilinear")

map["linalg.cross"] = op("cross", { before = function(c) c.kwargs.dim = c.kwargs.dim or -1 end })
map["linalg.det"] = op("det")
map["linalg.slogdet"] = op("slogdet")
map["linalg.inv"] = op("inverse")
map["linalg.inv_ex"] = by(function(c)
    local x = c.args[1]
    local shape = x:shape()
    local info = R.zeros(table.move(shape, 1, #shape - 2, 1, {}), { dtype = "i32" })
    return R.inverse(x), info
end)
map["linalg.solve"] = op("solve")
map["linalg.cholesky"] = op("cholesky")
map["linalg.matrix_norm"] = op("matrix_norm")
map["linalg.matrix_power"] = op("matrix_power")
map["linalg.eigvalsh"] = op("eigvalsh", { drop = { UPLO = true } })
map["linalg.svdvals"] = op("svdvals")
map["linalg.pinv"] = op("pinv")
map["pinverse"] = op("pinv")

return map
