-- How arguments reach an op: by position, spread out, in options, by name.
local t = require "support.test"
local rille = require "rille"

local m = rille.arange(1, 6):reshape(2, 3):to "f32"

t.test("sizes and dims may be spread out or stand in a list", function()
  t.eq({ rille.zeros(2, 3):size() }, { rille.zeros({ 2, 3 }):size() })
  t.eq({ m:reshape(3, 2):size() }, { 3, 2 })
  t.eq({ m:permute(2, 1):size() }, { m:permute { 2, 1 }:size() })
  t.eq(m:sum(1, 2):item(), 21)
end)

t.test("so may tensors", function()
  local v = rille.tensor { 1.0, 2.0, 3.0 }
  t.near(rille.einsum("ij,j->i", m, v), { 14, 32 }, 1e-6)
  t.near(rille.einsum("ij,j->i", { m, v }), { 14, 32 }, 1e-6)
  t.eq({ rille.cat(m, m, m):size() }, { 6, 3 })
  t.eq({ rille.cat({ m, m }, 2):size() }, { 2, 6 })
  t.eq({ rille.cat(m, m, { dim = 2 }):size() }, { 2, 6 })
  t.eq({ rille.stack(m, m, 3):size() }, { 2, 3, 2 })
end)

t.test("options come last, or all arguments by name", function()
  t.eq({ m:sum(1, { keepdim = true }):size() }, { 1, 3 })
  t.eq({ m:sum { dims = 1, keepdim = true }:size() }, { 1, 3 })
  t.eq({ rille.full({ shape = { 2 }, value = 3.0 }):size() }, { 2 })
end)

t.test("what is missing, unknown, given twice or too much is told", function()
  t.error_like(function() rille.matmul(m) end, { code = "E_TYPE", message = "missing argument" })
  t.error_like(function() m:sum(1, { keepdims = true }) end,
    { message = "unknown option 'keepdims' (did you mean 'keepdim'?)" })
  t.error_like(function() m:sum(1, { dims = 2 }) end, { message = "'dims' is given twice" })
  t.error_like(function() m:exp(1, 2, 3) end, { message = "takes at most" })
  t.error_like(function() rille.cat(m, 1, m) end, { code = "E_TYPE" })
end)

t.test("a number stands for a tensor where that makes sense", function()
  t.eq((2 - rille.ones(2)):tolist(), { 1, 1 })
  t.eq(rille.maximum(m, 4.0):sum():item(), 27)
  t.eq(rille.where(m:gt(3), m, 0):sum():item(), 15)
end)

t.test("nil is no shape", function()
  for _, name in ipairs { "zeros", "ones", "empty", "rand", "randn" } do
    t.error_like(function() rille[name](nil) end,
      { code = "E_TYPE", op = name, message = "'shape' must be" })
    t.error_like(function() rille[name](nil, { dtype = "f64" }) end, { message = "got nil" })
  end
  t.eq(rille.zeros():dim(), 0)
  t.eq(rille.zeros({}):dim(), 0)
  t.eq(rille.zeros(3, nil):numel(), 3)        -- options that were left out
end)

t.test("fields that can't be set say so", function()
  local x = rille.ones(2)
  t.error_like(function() x.dtype = "f64" end, { code = "E_ARG", hint = 't:to "f64"',
    message = "'dtype' of a tensor can't be set" })
  t.error_like(function() x.device = "meta" end, { hint = 't:to "meta"' })
  t.error_like(function() x.shape = { 1, 2 } end, { message = "'shape' of a tensor can't be set" })
  t.error_like(function() x.dtpe = "f64" end, { message = "did you mean 'dtype'?" })
  t.eq(x.dtype, "f32")
end)
