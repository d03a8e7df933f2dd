-- Products and linear algebra.

local m = require "map.call"
local op, by, R = m.op, m.by, m.rille

local map = m.each({}, {
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bmm", "dot", "inner", "kron", "matmul", "mm",
    "mv", "outer", "vdot", "cross", "logdet",
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
map["nn.functional.cosine_similarity"] = op("cosine_similarity", { sums = true })
map["nn.functional.linear"] = op("linear")
map["nn.functional.bilinear"] = op("bilinear")

map["linalg.cross"] = op("cross", { before = function(c) c.kwargs.dim = c.kwargs.dim or -1 end })
map["linalg.cond"] = op("cond")
map["linalg.pinv"] = op("pinverse", { rename = { rtol = "rcond" } })
map["linalg.inv"] = op("inverse")
for _, name in ipairs { "det", "slogdet", "solve", "solve_triangular", "cholesky", "matrix_norm",
    "matrix_power", "matrix_rank", "svdvals" } do
    map["linalg." .. name] = op(name)
end

-- Of a symmetric matrix torch gives the gradient of symmetric changes, Rille that of what was read:
-- their symmetric parts are one.
local function symmetric_part(_, _, gradient)
    return R.mul(R.add(gradient, R.transpose(gradient)), 0.5)
end
local function read_half(c)
    c.kwargs.UPLO = c.kwargs.UPLO or c.args[2] or "L"
    c.n = 1
end
map["linalg.eigvalsh"] = op("eigvalsh", { before = read_half, part = symmetric_part })
-- Where torch is told that a matrix is symmetric it reads the lower half.
local function mirrored(c)
    local x = c.args[1]
    c.args[1] = R.add(R.tril(x), R.transpose(R.tril(x, -1)))
end
map["linalg.matrix_rank.hermitian"] = op("matrix_rank", { drop = { hermitian = true },
    before = mirrored })
-- Its gradient there is worked out with both halves of the sample, which differ.
map["linalg.pinv.hermitian"] = op("pinverse", { rename = { rtol = "rcond" },
    drop = { hermitian = true }, before = mirrored, wrong_there = { true } })

-- Beside the triangle that is read, torch's gradients are not zero; its own tests leave them out.
local function triangle(position)
    return function(c, i, gradient)
        local upper = c.kwargs.upper or c.args[position + 1] == true
        return i ~= position and gradient or upper and R.triu(gradient) or R.tril(gradient)
    end
end
map["cholesky_inverse"] = op("cholesky_inverse", { part = triangle(1) })
map["cholesky_solve"] = op("cholesky_solve", { part = triangle(2) })

-- Vectors of a decomposition may have either sign.
map["linalg.eigh"] = op("eigh", { before = read_half, part = symmetric_part, either_sign = true })
map["linalg.qr"] = op("qr", { either_sign = true })
map["linalg.svd"] = op("svd", { either_sign = true, slack = 3, before = function(c)
    if c.kwargs.full_matrices and c.args[1]:size(-1) ~= c.args[1]:size(-2) then
        m.not_mapped("vectors of the null space are free")
    end
end })

map["svd"] = by(function(c)
    local x, some = c.args[1], c.kwargs.some ~= false and c.args[2] ~= false
    if not some and x:size(-1) ~= x:size(-2) then
        m.not_mapped("vectors of the null space are free")
    end
    local u, s, vh = R.svd(x)
    return u, s, R.transpose(vh)
end)
map["svd"].either_sign, map["svd"].slack = true, 3

map["linalg.pinv.singular"] = by(function(c)
    return R.pinverse(R.matmul(c.args[1], R.transpose(c.args[2])), { rcond = 1e-6 })
end)

-- Residuals are there where rows are more than columns, the rest as far as the driver finds it.
local function lstsq(c)
    local a, b, driver = c.args[1], c.args[2], c.kwargs.driver
    local x = R.lstsq(a, b)
    local tall, residuals = a:size(-2) > a:size(-1), R.zeros(0)
    if tall and driver ~= "gelsy" then
        residuals = R.sum(R.square(R.sub(R.matmul(a, x), b)), -2)
    end
    local by_values = driver == "gelss" or driver == "gelsd"
    local rank = driver == "gels" and R.zeros(0, { dtype = "i64" }) or R.matrix_rank(a)
    return x, residuals, rank, by_values and R.svdvals(a) or R.zeros(0)
end
map["linalg.lstsq"] = by(lstsq, nil, 10)
map["linalg.lstsq.grad_oriented"] = map["linalg.lstsq"]

local function size_of(shape, first, last)
    local n = 1
    for d = first, last do
        n = n * shape[d]
    end
    return n
end
map["linalg.tensorinv"] = by(function(c)
    local x, ind = c.args[1], c.kwargs.ind or 2
    local shape = x:shape()
    local rows = size_of(shape, 1, ind)
    local turned = table.move(shape, ind + 1, #shape, 1, {})
    table.move(shape, 1, ind, #turned + 1, turned)
    return R.reshape(R.inverse(R.reshape(x, { rows, rows })), turned)
end)
map["linalg.tensorsolve"] = by(function(c)
    local a, b, dims = c.args[1], c.args[2], c.kwargs.dims
    if dims then
        local last = {}
        for i = 1, #dims do
            last[i] = i - #dims - 1
        end
        a = R.movedim(a, m.from_one(dims), last)
    end
    local shape = table.move(a:shape(), b:dim() + 1, a:dim(), 1, {})
    local n = b:numel()
    return R.reshape(R.solve(R.reshape(a, { n, n }), R.flatten(b)), shape)
end)

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
