-- batch_norm against PyTorch, forward and backward, in f32 and bf16, and when its running
-- statistics are looked at.
--
-- The values come from torch.nn.functional.batch_norm of torch 2.15 on the CPU.
local t = require "support.test"
local rille = require "rille"

local x = { { { 0.5, -1 }, { 2, 0.25 }, { 1.5, -0.5 } }, { { 1.25, 0.75 }, { -2, 3 }, { 0, 1 } } }
local dy = { { { 1, -0.5 }, { 0.25, 2 }, { -1, 0.5 } },
  { { 0.75, 1.5 }, { -0.25, 1 }, { 0.5, -2 } } }

local training = {
  y = { 0.473605, -2.209657, 0.687304, 1.148119, 1.529802, -3.529802, 1.815237, 0.920816, 1.740595,
    0.423981, -2.264901, 0.264901 },
  dx = { 0.397523, -0.347856, 0.176381, -0.350336, 1.517837, -0.252936, -1.01863, 0.968963,
    0.157409, 0.016547, 1.138433, -2.403334 },
  dweight = { 2.42239, 1.086207, -3.478477 },
  dbias = { 2.75, 3, -2 },
  mean = { 0.1275, 0.26125, 0.32 },
  var = { 0.99375, 2.280729, 0.533333 },
}
local evaluation = {
  y = { 0.849997, -1.399992, 0.363606, 0.982322, 2.394078, -3.262719, 1.974991, 1.224995, 1.777816,
    0.010053, -1.84852, 0.979879 },
  dx = { 1.49999, -0.749996, -0.088388, -0.707105, -2.8284, 1.4142, 1.12499, 2.24999,
    0.088388, -0.353553, 1.4142, -5.6568 },
  dweight = { 2.787486, 2.75771, -4.454728 },
  dbias = { 2.75, 3, -2 },
  mean = { 0.1, 0.2, 0.3 },
  var = { 1, 2, 0.5 },
}

local function flat(tensor) return tensor:detach():to("f64"):flatten():tolist() end

local function arguments(dtype)
  return rille.tensor(x, { dtype = dtype, requires_grad = true }), {
    weight = rille.tensor({ 1.5, -0.5, 2 }, { requires_grad = true }),
    bias = rille.tensor({ 0.25, 1, -1 }, { requires_grad = true }),
    running_mean = rille.tensor { 0.1, 0.2, 0.3 },
    running_var = rille.tensor { 1, 2, 0.5 },
  }
end

for name, want in pairs { training = training, evaluation = evaluation } do
  for dtype, apart in pairs { f32 = 2e-5, bf16 = 0.02 } do
    t.test(("batch_norm of %s in %s"):format(dtype, name), function()
      local values, o = arguments(dtype)
      o.training = name == "training"
      local y = rille.batch_norm(values, o)
      t.eq(y.dtype, dtype)
      y:backward(rille.tensor(dy, { dtype = dtype }))
      t.near(flat(y), want.y, apart, "y")
      t.near(flat(values.grad), want.dx, apart, "dx")
      t.eq(o.weight.grad.dtype, "f32")
      t.near(flat(o.weight.grad), want.dweight, apart, "dweight")
      t.near(flat(o.bias.grad), want.dbias, apart, "dbias")
      t.near(flat(o.running_mean), want.mean, 1e-6, "running mean")
      t.near(flat(o.running_var), want.var, 1e-6, "running var")
    end)
  end
end

t.test("running statistics may move between a call that reads them and its backward", function()
  local values, o = arguments "f32"
  local y = rille.batch_norm(values, o)
  o.training = true
  rille.batch_norm(values, o)
  y:backward(rille.tensor(dy))
  t.near(flat(values.grad), evaluation.dx, 2e-5)
end)
