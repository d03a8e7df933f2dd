-- What an optimizer keeps in eight bits: codes and scales. The rule is f32 arithmetic between
-- steps, and after each a code next to the exact value, above or below it, right in the mean.
local t = require "support.test"
local rille = require "rille"
local nn, optim = rille.nn, rille.optim

local function parameter(n)
  return nn.Parameter(rille.zeros(n))
end

-- The values that an optimizer keeps of its only parameter.
local function kept(opt, name)
  local state = opt:state_dict().state["1"]
  local codes = state[name]
  local scales = rille.repeat_interleave(state[name .. "_scale"], 128)
  return codes:to "f32" * scales:narrow(1, 1, codes:numel())
end

t.test("one byte an element, and a scale for each 128", function()
  local p = parameter(300)
  local opt = optim.AdamW({ p }, { state_dtype = "f8_e4m3", amsgrad = true })
  p.grad = rille.randn(300)
  opt:step()
  local state = opt:state_dict().state["1"]
  for _, name in ipairs { "exp_avg", "exp_avg_sq", "max_exp_avg_sq" } do
    t.eq(state[name].dtype, "f8_e4m3")
    t.eq(state[name]:shape(), { 300 })
    t.eq(state[name .. "_scale"].dtype, "f32")
    t.eq(state[name .. "_scale"]:shape(), { 3 })
  end
end)

-- e4m3 has three bits behind the point: neighbours are at most 1/8 apart. Of the root of a square
-- that is 1/8, too, of the square itself (9/8)^2 - 1.
t.test("the first step is exact, what it keeps is next to that", function()
  rille.seed(1)
  local g = rille.randn(1000)
  local p, exact = parameter(1000), parameter(1000)
  local opt = optim.AdamW({ p }, { state_dtype = "f8_e4m3" })
  local reference = optim.AdamW({ exact }, {})
  p.grad, exact.grad = g, g
  opt:step()
  reference:step()
  t.eq(p:tolist(), exact:tolist())
  local m, v = kept(opt, "exp_avg"), kept(opt, "exp_avg_sq"):square()
  local large = g:abs():gt(0.1) -- smaller ones may be subnormal beside the largest of their 128
  local near_m = (m - 0.1 * g):abs():le(0.126 * (0.1 * g):abs())
  t.ok(near_m:masked_select(large):all():item())
  local square = 0.001 * g * g
  local near_v = (v - square):abs():le(0.27 * square)
  t.ok(near_v:masked_select(large):all():item())
  t.ok(v:gt(0):all():item())
end)

-- Without gradients an average falls by its beta at every step. Rounded to the nearest code it
-- would not move: 1 - 0.98 is less than half of 1/8.
t.test("averages that move by less than half a code follow their rule in the mean", function()
  rille.seed(2)
  local p = parameter(4096)
  local opt = optim.SGD({ p }, { lr = 0, momentum = 0.98, state_dtype = "f8_e4m3" })
  p.grad = rille.ones(4096)
  opt:step()
  p.grad = rille.zeros(4096)
  for _ = 1, 60 do opt:step() end
  local mean = kept(opt, "momentum_buffer"):mean():item()
  t.near(mean, 0.98 ^ 60, 0.02)
end)

t.test("a model trains as with moments in f32", function()
  local function run(dtype)
    rille.seed(3)
    local model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    local opt = optim.AdamW(model:parameters(), { lr = 0.01, state_dtype = dtype })
    local x = rille.randn(256, 8)
    local y = x:sum(2, { keepdim = true }):tanh()
    local loss
    for _ = 1, 200 do
      opt:zero_grad()
      loss = rille.mse_loss(model(x), y)
      loss:backward()
      opt:step()
    end
    return loss:item()
  end
  local exact = run()
  for _, dtype in ipairs { "f8_e4m3", "f8_e5m2" } do
    t.ok(run(dtype) < 1.5 * exact + 1e-4, dtype)
  end
end)

t.test("a run that goes on from a file has the same bits", function()
  local path = os.tmpname()
  local function make()
    rille.seed(4)
    local model = nn.Linear(20, 10)
    return model, optim.Adam(model:parameters(), { state_dtype = "f8_e4m3" })
  end
  local x = rille.linspace(-1, 1, 60):view(3, 20)
  local function steps(model, opt, count)
    for _ = 1, count do
      opt:zero_grad()
      model(x):pow(2):mean():backward()
      opt:step()
    end
  end
  local model, opt = make()
  steps(model, opt, 6)
  local whole = model.weight:tolist()
  model, opt = make()
  steps(model, opt, 3)
  rille.save(path, {
    model = model:state_dict(), opt = opt:state_dict(), rng = rille.get_rng_state(),
  })
  model, opt = make()
  local file = rille.load(path)
  model:load_state_dict(file.model)
  opt:load_state_dict(file.opt)
  rille.set_rng_state(file.rng)
  steps(model, opt, 3)
  t.eq(model.weight:tolist(), whole)
  os.remove(path)
end)

t.test("what is no dtype for it, and a state without its scales", function()
  local p = parameter(4)
  for _, dtype in ipairs { "f4_e2m1", "i32" } do
    t.error_like(function() optim.AdamW({ p }, { state_dtype = dtype }) end,
      { code = "E_OPTION", message = "'state_dtype' must be f64, f32, bf16, f16, f8_e4m3" })
  end
  local opt = optim.AdamW({ p }, { state_dtype = "f8_e4m3" })
  p.grad = rille.ones(4)
  opt:step()
  local dict = opt:state_dict()
  dict.state["1"].exp_avg_scale = nil
  t.error_like(function() opt:load_state_dict(dict) end,
    { code = "E_STATE", message = "the state of '1' has no 'exp_avg_scale'" })
  dict.state["1"].exp_avg_scale = rille.zeros(2)
  t.error_like(function() opt:load_state_dict(dict) end,
    { code = "E_STATE", message = "'exp_avg_scale' of '1' is [2], not [1]" })
end)
