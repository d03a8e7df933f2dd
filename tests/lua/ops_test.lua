-- How ops are called from scripts, whatever the op.
local t = require "support.test"
local rille = require "rille"

t.test("comparisons of whole tensors are true or false", function()
  local x = rille.tensor { 1.0, 2.0 }
  t.eq(rille.equal(x, rille.tensor { 1.0, 2.0 }), true)
  t.eq(x:equal(x + 1), false)
  t.eq(x:equal(rille.ones(3)), false)
  t.eq(x:allclose(x + 1e-7), true)
  t.eq(rille.allclose(x, x + 0.1, { atol = 0.2 }), true)
  t.eq(rille.allclose(x, x + 0.1), false)
  local unknown = rille.zeros(2, { device = "meta" })
  local _, err = pcall(rille.equal, unknown, unknown)
  t.eq(err.code, "E_NO_KERNEL")
end)

t.test("a nil at the end is no argument", function()
  local x = rille.tensor { -1.0, 2.0 }
  t.eq(x:relu(nil):tolist()[2], 2.0)
  t.eq(rille.add(x, 1, nil):tolist()[1], 0.0)
  t.eq(rille.sum(x, { keepdim = true }, nil):dim(), 1)
  local _, err = pcall(rille.add, x, nil)
  t.eq(err.code, "E_TYPE")
end)

t.test("an empty list of dims is all of them", function()
  local x = rille.tensor { { 1.0, 2.0 }, { 3.0, 4.0 } }
  t.eq(x:sum({ dims = {} }):item(), 10.0)
  t.eq(x:sum({}):item(), 10.0)
  t.eq(x:amax({ dims = {}, keepdim = true }):dim(), 2)
end)

t.test("gradients are recorded on meta, of ops that keep values of their own, too", function()
  local x = rille.ones(2, 3, 4, 4, { device = "meta", requires_grad = true })
  local y = rille.layer_norm(rille.max_pool2d(x, 2), { shape = { 2, 2 } })
  rille.cross_entropy(y:flatten(2), rille.zeros(2, { dtype = "i64", device = "meta" })):backward()
  t.eq(x.grad.device, "meta")
  t.eq(#x.grad:shape(), 4)
end)
