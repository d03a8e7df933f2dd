-- W11: matrix products of the shapes that the models above have, and squares. With
-- RILLE_ONEDNN=off in the environment it measures the built-in kernels (those of f32 are what it
-- measures anyhow where there is no AVX-512).
local rille = require "rille"
local measure = require "measure"

-- m, n, k, and which operand lies transposed: those of x w', of dx = dy w and of dw = dy' x.
local shapes = {
  { 1, 768, 768, "b" }, { 64, 64, 64 }, { 64, 64, 64, "b" }, { 256, 256, 256 },
  { 1024, 1024, 1024 }, { 1024, 1024, 1024, "a" }, { 1024, 1024, 1024, "b" },
  { 768, 512, 128, "b" }, { 768, 128, 512 }, { 512, 128, 768, "a" },
  { 2048, 1536, 384, "b" }, { 2048, 384, 1536 }, { 1536, 384, 2048, "a" },
}

rille.no_grad(function()
  for _, shape in ipairs(shapes) do
    local m, n, k, transposed = table.unpack(shape)
    local a = transposed == "a" and rille.randn(k, m):t() or rille.randn(m, k)
    local b = transposed == "b" and rille.randn(n, k):t() or rille.randn(k, n)
    local calls = math.max(1, 200000000 // (2 * m * n * k))
    local name = ("%dx%dx%d%s"):format(m, n, k, transposed and "_" .. transposed or "")
    measure.case(name, function()
      for _ = 1, calls do a:matmul(b) end
    end, calls)
  end
end)
