-- What an optimizer's step did: opt:stats(), rounding by chance, master copies, states in 16 bits;
-- and that a run that goes on from a file has the same bits.
local t = require "support.test"
local rille = require "rille"
local nn, optim, amp = rille.nn, rille.optim, rille.amp

local function parameter(values, dtype)
  return nn.Parameter(rille.tensor(values, { dtype = dtype or "f32" }))
end

t.test("norms of the update and of the parameters", function()
  local p, q = parameter { 3.0, 4.0 }, parameter { 1.0 }
  local opt = optim.SGD({ p, q }, { lr = 0.5, stats = true })
  p.grad, q.grad = rille.tensor { 2.0, 0.0 }, rille.tensor { -2.0 }
  opt:step()
  t.near(opt:stats(), { update_norm = 2 ^ 0.5, param_norm = 24 ^ 0.5, lost_updates = 0 }, 1e-6)
  opt:zero_grad()
  opt:step()
  t.eq(opt:stats(), { update_norm = 0.0, param_norm = 0.0, lost_updates = 0 })
end)

t.test("lost updates: bf16 keeps 1 where 1/512 is taken off, a master copy does not", function()
  for dtype, lost in pairs { bf16 = 3, f16 = 0, f32 = 0 } do
    local p = parameter({ 1.0, 1.0, 1.0, 1.0 }, dtype)
    local opt = optim.SGD({ p }, { lr = 2.0 ^ -9, stats = true })
    p.grad = rille.tensor({ -1.0, -1.0, -1.0, 0.0 }, { dtype = dtype })
    opt:step()
    t.eq(opt:stats().lost_updates, lost, dtype)
  end
  local p = parameter({ 1.0 }, "bf16")
  local opt = optim.SGD({ p }, { lr = 2.0 ^ -9, stats = true, master_weights = true })
  p.grad = rille.tensor({ -1.0 }, { dtype = "bf16" })
  opt:step()
  t.eq({ opt:stats().lost_updates, p:item(), opt:state_of(p, opt.groups[1]).master:item() },
    { 0, 1.0, 1 + 2 ^ -9 })
end)

t.test("a million updates of a twentieth of a step survive by chance alone", function()
  for _, dtype in ipairs { "bf16", "f16" } do
    local ulp = dtype == "bf16" and 2.0 ^ -7 or 2.0 ^ -10
    for _, chance in ipairs { true, false } do
      rille.seed(3)
      local p = nn.Parameter(rille.ones(10000, { dtype = dtype }))
      local opt = optim.SGD({ p }, { lr = ulp / 20, stochastic_rounding = chance })
      p.grad = rille.full({ 10000 }, -1.0, { dtype = dtype })
      for _ = 1, 100 do opt:step() end
      local moved = (p:detach():double():mean():item() - 1) / ulp
      t.near(moved, chance and 5 or 0, 0.02, dtype)
    end
  end
end)

t.test("rounding by chance is repeatable, and leaves f32 and masters alone", function()
  local function run(options)
    rille.seed(5)
    options.lr = 1e-3
    local p = nn.Parameter(rille.ones(64, { dtype = options.dtype or "bf16" }))
    options.dtype = nil
    local opt = optim.AdamW({ p }, options)
    p.grad = rille.linspace(-1, 1, 64):to(p.dtype)
    for _ = 1, 5 do opt:step() end
    return p:tolist()
  end
  t.eq(run { stochastic_rounding = true }, run { stochastic_rounding = true })
  t.eq(run { stochastic_rounding = true, master_weights = true }, run { master_weights = true })
  t.eq(run { stochastic_rounding = true, dtype = "f32" }, run { dtype = "f32" })
end)

t.test("stats that nobody asked for", function()
  local opt = optim.SGD({ parameter { 1.0 } }, {})
  t.error_like(function() opt:stats() end,
    { code = "E_STATE", message = "not measured", hint = "stats = true" })
  opt = optim.SGD({ parameter { 1.0 } }, { stats = true })
  t.error_like(function() opt:stats() end, { code = "E_STATE", message = "no step yet" })
end)

t.test("moments in bf16 train as those in f32 do, to their precision", function()
  local function run(dtype)
    rille.seed(7)
    local model = nn.Linear(8, 1)
    local opt = optim.AdamW(model:parameters(), { lr = 0.02, state_dtype = dtype })
    local x = rille.randn(128, 8)
    local y = x:sum(2, { keepdim = true })
    local loss
    for _ = 1, 100 do
      opt:zero_grad()
      loss = rille.mse_loss(model(x), y)
      loss:backward()
      opt:step()
    end
    return loss:item(), opt:state_dict().state.weight.exp_avg.dtype
  end
  local exact, wide = run()
  local rounded, narrow = run "bf16"
  t.eq({ wide, narrow }, { "f32", "bf16" })
  t.near(rounded, exact, 0.05)
end)

-- Ten f16 steps with masters, a scaler that overflows on the way and rounding by chance elsewhere,
-- in one go or over a file in the middle: the same bits.
t.test("a run that goes on from a file has the same bits", function()
  local path = os.tmpname()
  local function make()
    rille.seed(11)
    local model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1))
    model[1]:to "f16"
    model[3]:to "bf16"
    local opt = optim.AdamW({
      { params = model[1]:parameters(), master_weights = true },
      { params = model[3]:parameters(), stochastic_rounding = true, state_dtype = "bf16" },
    }, { lr = 1e-2 })
    local schedule = optim.lr.Cosine(opt, { steps = 10 })
    local scaler = amp.GradScaler { init_scale = 2 ^ 10, growth_interval = 3, hysteresis = 2 }
    return { model = model, opt = opt, schedule = schedule, scaler = scaler }
  end
  local x = rille.linspace(-1, 1, 24):view(4, 6)
  local function steps(run, first, last)
    for i = first, last do
      local hidden = run.model[2](run.model[1](x:to "f16"))
      local loss = run.model[3](hidden:to "bf16"):float():pow(2):mean()
      if i == 4 or i == 6 then loss = loss * math.huge end
      run.scaler:scale(loss):backward()
      run.scaler:step(run.opt)
      run.scaler:update()
      run.schedule:step()
      run.opt:zero_grad()
    end
  end
  local function state_of(run)
    local dict = {}
    for name, part in pairs(run) do dict[name] = part:state_dict() end
    return dict
  end
  local whole = make()
  steps(whole, 1, 10)
  local first = make()
  steps(first, 1, 5)
  rille.save(path, { state = state_of(first), random = rille.get_rng_state() })
  local second = make()
  local saved = rille.load(path)
  for _, name in ipairs { "model", "opt", "schedule", "scaler" } do
    second[name]:load_state_dict(saved.state[name])
  end
  rille.set_rng_state(saved.random)
  steps(second, 6, 10)
  os.remove(path)
  t.eq({ second.scaler:state_dict(), second.opt.step_count, second.schedule:get_last_lr() },
    { whole.scaler:state_dict(), whole.opt.step_count, whole.schedule:get_last_lr() })
  for name, p in whole.model:named_parameters() do
    t.eq(second.model:state_dict()[name]:tolist(), p:tolist(), name)
  end
end)
