-- Optimizers against PyTorch 2.15: four steps on x^3/2 + 0.1 x_1 and q^2 (in f64), the gradient of
-- q missing in the second; groups, state, what is refused.
local t = require "support.test"
local rille = require "rille"
local nn, optim = rille.nn, rille.optim

local function parameters()
  local p = nn.Parameter(rille.tensor({ 1.0, -2.0, 0.5 }, { dtype = "f64" }))
  return p, nn.Parameter(rille.tensor({ { 0.3 } }, { dtype = "f64" }))
end

local function steps(optimizer, p, q, first, last)
  for step = first, last do
    optimizer:zero_grad()
    local loss = (p * p * p):sum() * 0.5 + (q * q):sum() + p[1] * 0.1
    loss:backward()
    if step == 2 then q.grad = nil end
    optimizer:step()
  end
end

local function values(p, q)
  local list = p:tolist()
  list[4] = q:item()
  return list
end

local function check(title, make, wanted)
  t.test(title, function()
    local p, q = parameters()
    local optimizer = make { p, q }
    steps(optimizer, p, q, 1, 4)
    t.near(values(p, q), wanted, 1e-11)
    t.eq(optimizer.step_count, 4)
  end)
end

local function sgd(options)
  return function(params) return optim.SGD(params, options) end
end

check("SGD", sgd { lr = .1 }, { 0.564920027021, -10.232148535208, 0.37830951391, 0.1536 })
check("SGD, momentum and decay", sgd { lr = .1, momentum = .9, weight_decay = .01 },
  { -0.006597665684, -21.550800036487, 0.221146532218, 0.0174582597 })
check("SGD, dampening", sgd { lr = .1, momentum = .9, dampening = .5 },
  { 0.206997022002, -9.67367012722, 0.293831240228, 0.0756 })
check("SGD, Nesterov", sgd { lr = .1, momentum = .9, nesterov = true },
  { -0.060909496942, -138.97842192411, 0.183353819994, -0.0325056 })
check("SGD, maximize", sgd { lr = .1, maximize = true },
  { 2.089531918965, -0.794859621918, 0.691249249769, 0.5184 })
check("Adam", function(params) return optim.Adam(params, { lr = .1, weight_decay = .1 }) end,
  { 0.608631493735, -2.401164275497, 0.12876718774, 0.01328897109 })
check("Adam, amsgrad", function(params) return optim.Adam(params, { lr = .1, amsgrad = true }) end,
  { 0.60900373531, -2.40116127259, 0.131672644291, 0.013288971335 })
check("AdamW", function(params) return optim.AdamW(params, { lr = .1 }) end,
  { 0.605737035663, -2.392568730027, 0.130489910482, 0.012762341587 })

t.test("groups have options of their own", function()
  local p, q = parameters()
  local optimizer = optim.SGD({ { params = { p }, lr = 1.0 }, { params = { q } } }, { lr = 0.5 })
  t.eq(optimizer.groups[1].lr, 1.0)
  t.eq(optimizer.param_groups[2].lr, 0.5)
end)

t.test("going on from saved state is exact", function()
  local p, q = parameters()
  local whole = optim.AdamW({ p, q }, { lr = .1 })
  steps(whole, p, q, 1, 4)
  local a, b = parameters()
  local first = optim.AdamW({ a, b }, { lr = .1 })
  steps(first, a, b, 1, 2)
  local second = optim.AdamW({ a, b }, { lr = .7 })
  second:load_state_dict(first:state_dict())
  steps(second, a, b, 3, 4)
  t.eq(values(a, b), values(p, q))
  t.eq(second.step_count, 4)
end)

t.test("state is kept by name, so the order of parameters may change", function()
  local m = nn.Linear(2, 2)
  local optimizer = optim.Adam(m:parameters(), { lr = .1 })
  m(rille.ones(1, 2)):sum():backward()
  optimizer:step()
  local state = optimizer:state_dict().state
  t.ok(state.weight and state.bias)
  local list = m:parameters()
  local other = optim.Adam({ list[2], list[1] }, { lr = .1 })
  other:load_state_dict(optimizer:state_dict())
  t.eq(other.state[list[1]].exp_avg, state.weight.exp_avg:tolist())
end)

t.test("the closure's loss comes back", function()
  local p = nn.Parameter(rille.tensor { 2.0 })
  local optimizer = optim.SGD({ p }, { lr = .1 })
  local loss = rille.no_grad(function()
    return optimizer:step(function()
      local value = (p * p):sum()
      value:backward()
      return value
    end)
  end)
  t.near(loss:item(), 4.0)
  t.near(p:item(), 1.6)
end)

t.test("clipping scales by the norm and returns that of before", function()
  local p = nn.Parameter(rille.zeros(2))
  p.grad = rille.tensor { 3.0, 4.0 }
  t.near(nn.clip_grad_norm_({ p }, 1.0):item(), 5.0)
  t.near(p.grad, { 0.6, 0.8 }, 1e-5)
  t.near(nn.clip_grad_norm_({ p }, 10):item(), 1.0, 1e-5)
  t.near(p.grad, { 0.6, 0.8 }, 1e-5)
  t.eq(nn.clip_grad_norm_({}, 1.0):item(), 0)
  p.grad = rille.tensor { 1.0, math.huge }
  t.eq(nn.clip_grad_norm_({ p }, 1.0):item(), math.huge)
  t.eq(p.grad, { 1.0, math.huge })
  nn.clip_grad_value_({ p }, 0.5)
  t.eq(p.grad, { 0.5, 0.5 })
end)

t.test("mistakes are refused", function()
  local p = parameters()
  t.error_like(function() optim.AdamW({ p }, { weigth_decay = 1.0 }) end,
    { message = "did you mean 'weight_decay'" })
  t.error_like(function() optim.SGD({ p, p }, {}) end, { message = "is there twice" })
  t.error_like(function() optim.SGD({}, {}) end, { message = "empty" })
  t.error_like(function() optim.SGD({ p * 2 }, {}) end, { message = "no leaf" })
  t.error_like(function() optim.SGD({ p }, { nesterov = true }) end, { message = "momentum" })
  t.error_like(function() return optim.AdmaW end, { message = "did you mean 'AdamW'" })
end)
