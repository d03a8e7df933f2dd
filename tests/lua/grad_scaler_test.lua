-- amp.GradScaler: its states, its scale, what it refuses, what it saves. Sequences of values are
-- those of PyTorch 2.15's torch.amp.GradScaler("cpu").
local t = require "support.test"
local rille = require "rille"
local native = require "rille.native"
local nn, optim, amp = rille.nn, rille.optim, rille.amp

local function one(value)
  return nn.Parameter(rille.tensor { value or 1.0 })
end

-- A parameter, its optimizer and a scaler; go(g) runs backward with the gradient g.
local function setup(options, rate)
  local p = one()
  local optimizer = optim.SGD({ p }, { lr = rate or 0.125 })
  options = options or {}
  options.init_scale = options.init_scale or 4
  local scaler = amp.GradScaler(options)
  local function go(g) scaler:scale((p * (g or 1.0)):sum()):backward() end
  return scaler, optimizer, go, p
end

local function state(scaler) return { scaler:get_scale(), scaler:get_growth_tracker() } end

-- What each call does in each state, as semantics of PyTorch's: the state that follows, or a code.
local calls = {
  scale = function(s) s:scale(rille.ones(1)) end,
  unscale_ = function(s, o) s:unscale_(o) end,
  step = function(s, o) s:step(o) end,
  update = function(s) s:update() end,
}
local ways = {                           -- how a state is reached
  new = {}, ready = { "scale" }, unscaled = { "scale", "unscale_" }, stepped = { "scale", "step" },
}
local transitions = {
  new = {
    scale = "ready", unscale_ = "E_SCALER_NOT_SCALED", step = "E_SCALER_NOT_SCALED",
    update = "E_SCALER_NOT_SCALED",
  },
  ready = {
    scale = "ready", unscale_ = "unscaled", step = "stepped", update = "E_SCALER_NO_CHECKS",
  },
  unscaled = {
    scale = "unscaled", unscale_ = "E_SCALER_UNSCALE_TWICE", step = "stepped", update = "ready",
  },
  stepped = {
    scale = "stepped", unscale_ = "E_SCALER_UNSCALE_AFTER_STEP", step = "E_SCALER_STEP_TWICE",
    update = "ready",
  },
}

local function reach(name)
  local scaler, optimizer, _, p = setup()
  p.grad = rille.ones(1)
  for _, call in ipairs(ways[name]) do calls[call](scaler, optimizer) end
  return scaler, optimizer
end

-- The state that it is in, from what each call answers there.
local function is_in(name, call)
  local seen = {}
  for other, wanted in pairs(transitions[name]) do
    local scaler, optimizer = reach(call[1])
    calls[call[2]](scaler, optimizer)
    local fine, err = pcall(calls[other], scaler, optimizer)
    seen[other] = fine or err.code
    t.eq(seen[other], wanted:match "^E_" and wanted or true, call[1] .. "." .. call[2])
  end
end

for name, row in pairs(transitions) do
  for call, wanted in pairs(row) do
    t.test(("%s in state '%s'"):format(call, name), function()
      if not wanted:match "^E_" then return is_in(wanted, { name, call }) end
      local scaler, optimizer = reach(name)
      t.error_like(function() calls[call](scaler, optimizer) end, { code = wanted })
    end)
  end
end

t.test("the scale doubles after each growth_interval of clean updates", function()
  local scaler, optimizer, go = setup { growth_interval = 2 }
  local seen = {}
  for i = 1, 5 do
    go()
    scaler:step(optimizer)
    scaler:update()
    seen[i] = state(scaler)
    optimizer:zero_grad()
  end
  t.eq(seen, { { 4.0, 1 }, { 8.0, 0 }, { 8.0, 1 }, { 16.0, 0 }, { 16.0, 1 } })
end)

t.test("an overflow halves it, skips the step, and a schedule stands still", function()
  local scaler, optimizer, go, p = setup()
  local aware = optim.lr.Step(optimizer, { size = 1, gamma = 0.5 })
  local always = optim.lr.Step(optimizer, { size = 1, gamma = 1.0, skip_aware = false })
  go(math.huge)
  t.eq({ scaler:step(optimizer) }, { false })
  scaler:update()
  t.eq(state(scaler), { 2.0, 0 })
  t.eq({ p:item(), optimizer.step_count }, { 1.0, 0 })
  t.eq({ aware:step(), always:step() }, { false, true })
  t.eq(aware:get_last_lr(), { 0.125 })
  optimizer:zero_grad()
  go()
  t.eq({ scaler:step(optimizer) }, { true })
  t.eq({ aware:step(), optimizer.step_count, p:item() }, { true, 1, 0.875 })
end)

t.test("growth is no overflow: a schedule moves where the scale grew", function()
  local scaler, optimizer, go = setup { growth_interval = 1 }
  local schedule = optim.lr.Step(optimizer, { size = 1 })
  go()
  scaler:step(optimizer)
  scaler:update()
  t.eq({ scaler:get_scale(), schedule:step(), schedule:step() }, { 8.0, true, false })
end)

t.test("one scaler, two optimizers: the clean one steps, the scale halves once", function()
  local p, q = one(), one()
  local first, second = optim.SGD({ p }, { lr = 0.5 }), optim.SGD({ q }, { lr = 0.5 })
  local scaler = amp.GradScaler { init_scale = 4 }
  scaler:scale((p * 1.0 + q * math.huge):sum()):backward()
  t.eq({ (scaler:step(first)), (scaler:step(second)) }, { true, false })
  scaler:update()
  t.eq({ p:item(), q:item(), scaler:get_scale() }, { 0.5, 1.0, 2.0 })
end)

t.test("accumulation: gradients are divided once", function()
  local scaler, optimizer, go, p = setup({ init_scale = 1024 }, 1.0)
  for _ = 1, 4 do go(0.25) end
  t.eq(p.grad:item(), 1024.0)
  scaler:unscale_(optimizer)
  t.eq(p.grad:item(), 1.0)
  scaler:step(optimizer)
  t.eq({ p:item(), p.grad:item() }, { 0.0, 1.0 })
end)

t.test("clipping sees the true norm after unscale_", function()
  local p = nn.Parameter(rille.tensor { 0.0, 0.0 })
  local optimizer = optim.SGD({ p }, { lr = 1.0 })
  local scaler = amp.GradScaler {}
  scaler:scale((p * rille.tensor { 3.0, 4.0 }):sum()):backward()
  scaler:unscale_(optimizer)
  t.near(nn.utils.clip_grad_norm_({ p }, 1.0):item(), 5.0, 1e-6)
  t.near(p.grad, { 0.6, 0.8 }, 1e-6)
  t.eq((scaler:step(optimizer)), true)
  t.near(p, { -0.6, -0.8 }, 1e-6)
end)

t.test("gradients with strides, of several dtypes, in several groups", function()
  local m = nn.Parameter(rille.ones(2, 3))
  local d = nn.Parameter(rille.ones(2, { dtype = "f64" }))
  local b = nn.Parameter(rille.ones(2, { dtype = "bf16" }))
  local optimizer = optim.SGD { { params = { m } }, { params = { d, b } } }
  local scaler = amp.GradScaler { init_scale = 8 }
  scaler:scale(rille.ones(1))
  m.grad = rille.full({ 3, 2 }, 4.0):t()
  d.grad, b.grad = rille.full({ 2 }, 8.0, { dtype = "f64" }), rille.full({ 2 }, 12.0):to "bf16"
  scaler:unscale_(optimizer)
  t.eq({ m.grad:tolist(), d.grad:tolist(), b.grad:tolist() },
    { { { .5, .5, .5 }, { .5, .5, .5 } }, { 1, 1 }, { 1.5, 1.5 } })
  t.eq(b.grad.dtype, "bf16")
end)

t.test("a nan or an infinity anywhere is found", function()
  for _, bad in ipairs { 0 / 0, math.huge, -math.huge } do
    for _, n in ipairs { 1, 7, 2048, 70000 } do
      for _, at in ipairs { 1, (n + 1) // 2, n } do
        local p = nn.Parameter(rille.ones(n))
        local optimizer = optim.SGD({ p }, {})
        local scaler = amp.GradScaler { init_scale = 2 }
        scaler:scale(rille.ones(1))
        p.grad = rille.ones(n)
        p.grad[at] = bad
        t.eq((scaler:step(optimizer)), false, ("%d of %d"):format(at, n))
      end
    end
  end
end)

t.test("f16 parameters: an error without master weights, f32 gradients with them", function()
  local p = nn.Parameter(rille.ones(2, { dtype = "f16" }))
  local scaler = amp.GradScaler { init_scale = 2 ^ 14 }
  scaler:scale(rille.ones(1))
  p.grad = rille.full({ 2 }, 2 ^ -10, { dtype = "f16" })
  local plain = optim.SGD({ p }, { lr = 1.0 })
  t.error_like(function() scaler:unscale_(plain) end,
    { code = "E_SCALER_F16_GRADS", hint = "master_weights = true" })
  local masters = optim.SGD({ p }, { lr = 1.0, master_weights = true })
  scaler:unscale_(masters)
  t.eq({ p.grad.dtype, p.grad[1]:item() }, { "f32", 2 ^ -24 })
  scaler:step(masters)
  t.eq({ masters:state_dict().state["1"].master[1]:item(), p[1]:item() }, { 1 - 2 ^ -24, 1.0 })
end)

t.test("what scale gives: tables keep their shape, small losses become f32", function()
  local scaler = amp.GradScaler { init_scale = 65536 }
  local f16 = rille.tensor({ 3.0 }, { dtype = "f16" })
  local out = scaler:scale { f16, deep = { rille.tensor { 2.0 } }, list = { rille.ones(2) } }
  t.eq({ out[1].dtype, out[1]:item() }, { "f32", 196608.0 })
  t.eq({ out.deep[1]:item(), out.list[1]:tolist() }, { 131072.0, { 65536.0, 65536.0 } })
  t.eq(scaler:scale(rille.ones(2, { dtype = "f16" })).dtype, "f16")
  t.eq(scaler:scale(rille.ones(1, { dtype = "f64" })).dtype, "f64")
  t.error_like(function() scaler:scale(3) end, { code = "E_TYPE", op = "GradScaler.scale" })
end)

t.test("update with a number or a tensor sets the scale and leaves the counter", function()
  local scaler, optimizer, go = setup { growth_interval = 10 }
  go()
  scaler:step(optimizer)
  scaler:update()
  scaler:update(8)
  t.eq(state(scaler), { 8.0, 1 })
  scaler:update(rille.tensor(32.0))
  t.eq(state(scaler), { 32.0, 1 })
  t.error_like(function() scaler:update(-1) end, { code = "E_SCALER_ARG" })
  t.error_like(function() scaler:update "big" end, { code = "E_TYPE" })
end)

local function overflow(scaler, optimizer, go)
  go(math.huge)
  scaler:step(optimizer)
  scaler:update()
  optimizer:zero_grad()
end

t.test("hysteresis: only the n-th overflow in a row lowers the scale", function()
  local scaler, optimizer, go = setup { hysteresis = 2 }
  local seen = {}
  for i = 1, 5 do
    overflow(scaler, optimizer, go)
    seen[i] = scaler:get_scale()
  end
  t.eq(seen, { 4.0, 2.0, 2.0, 1.0, 1.0 })
  local state_now = scaler:state_dict()
  go()
  scaler:step(optimizer)
  scaler:update()
  optimizer:zero_grad()
  overflow(scaler, optimizer, go)
  t.eq(scaler:get_scale(), 1.0)
  scaler:load_state_dict(state_now)
  overflow(scaler, optimizer, go)
  t.eq(scaler:get_scale(), 0.5)
end)

t.test("max_scale bounds growth; dynamic = false keeps the scale and skips nevertheless", function()
  local scaler, optimizer, go = setup { growth_interval = 1, max_scale = 12 }
  for _ = 1, 3 do
    go()
    scaler:step(optimizer)
    scaler:update()
    optimizer:zero_grad()
  end
  t.eq(scaler:get_scale(), 12.0)
  scaler, optimizer, go = setup { dynamic = false, growth_interval = 1 }
  go()
  scaler:step(optimizer)
  scaler:update()
  optimizer:zero_grad()
  go(math.huge)
  t.eq({ (scaler:step(optimizer)) }, { false })
  scaler:update()
  t.eq(state(scaler), { 4.0, 0 })
end)

t.test("growth stops where f32 ends", function()
  local scaler, optimizer, go = setup { init_scale = 2.0 ^ 127, growth_interval = 1 }
  go(0.0)
  scaler:step(optimizer)
  scaler:update()
  t.eq(state(scaler), { 2.0 ^ 127, 0 })
end)

t.test("a collapse within 30 updates, with the parameters' names", function()
  local model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
  local optimizer = optim.SGD(model:parameters(), {})
  local scaler = amp.GradScaler {}
  for i = 1, 30 do
    scaler:scale(model(rille.ones(4, 2)):sum() * math.huge):backward()
    scaler:step(optimizer)
    if i < 30 then
      scaler:update()
    else
      t.error_like(function() scaler:update() end,
        { code = "E_SCALER_COLLAPSED", message = "6.103515625e-05 in 30 updates" })
    end
    optimizer:zero_grad()
  end
  local scale = scaler:get_scale()
  t.eq(scale, 2 ^ -14)
  scaler:update(1024)                    -- what catches the error may go on
  t.eq(scaler:get_scale(), 1024.0)
end)

t.test("options out of range", function()
  for name, value in pairs {
    growth_factor = 1, backoff_factor = 1, init_scale = 0, growth_interval = 0, hysteresis = 0,
    min_scale = -1, max_scale = 2,
  } do
    t.error_like(function() amp.GradScaler { [name] = value } end,
      { code = "E_SCALER_ARG", message = "'" .. name .. "' must be", op = "GradScaler" })
  end
  t.error_like(function() amp.GradScaler { growth = 2 } end, { code = "E_OPTION" })
  local scaler = setup()
  t.error_like(function() scaler:set_backoff_factor(2) end, { code = "E_SCALER_ARG" })
  t.error_like(function() scaler:set_growth_factor(0 / 0) end, { code = "E_SCALER_ARG" })
  t.error_like(function() scaler:set_growth_interval(0) end, { code = "E_SCALER_ARG" })
  scaler:set_growth_factor(3)
  scaler:set_backoff_factor(0.25)
  scaler:set_growth_interval(7)
  t.eq({ scaler:get_growth_factor(), scaler:get_backoff_factor(), scaler:get_growth_interval() },
    { 3.0, 0.25, 7 })
end)

t.test("a disabled scaler does nothing, and answers", function()
  local scaler, optimizer, _, p = setup { enabled = false }
  local loss = (p * 2.0):sum()
  t.ok(rawequal(scaler:scale(loss), loss))
  local losses = { loss }
  t.ok(rawequal(scaler:scale(losses), losses))
  loss:backward()
  scaler:unscale_(optimizer)
  t.eq(p.grad:item(), 2.0)
  local stepped, result = scaler:step(optimizer, function() return rille.tensor(3.0) end)
  t.eq({ stepped, result:item() }, { true, 3.0 })
  scaler:update()
  t.eq({ p:item(), optimizer.step_count }, { 0.75, 1 })
  t.eq({ scaler:is_enabled(), scaler:get_scale(), scaler:get_growth_interval() },
    { false, 1.0, 2000 })
  t.eq(scaler:state_dict(), {})
  scaler:load_state_dict {}
end)

t.test("for a device that is not there it is disabled", function()
  if pcall(rille.zeros, 1, { device = "cuda" }) then t.skip "there is cuda" end
  t.eq(amp.GradScaler { device = "cuda" }:is_enabled(), false)
  t.error_like(function() amp.GradScaler { device = "toaster" } end, { code = "E_ARG" })
end)

t.test("a bf16 loss disables it, unless it is forced", function()
  local loss = rille.ones(1, { dtype = "bf16" })
  local scaler = amp.GradScaler {}
  t.ok(rawequal(scaler:scale(loss), loss))
  t.eq({ scaler:is_enabled(), scaler:state_dict().disabled }, { false, true })
  local again = amp.GradScaler {}
  again:load_state_dict(scaler:state_dict())
  t.eq(again:is_enabled(), true)
  local forced = amp.GradScaler { force = true, init_scale = 2 }
  t.eq({ forced:scale(loss):item(), forced:is_enabled() }, { 2.0, true })
end)

t.test("a loss that autocast computed in bf16 disables it, one in f16 or f32 does not", function()
  local model = nn.Linear(2, 1)
  local function enabled_after(dtype, options)
    local function loss() return rille.mse_loss(model(rille.ones(3, 2)), rille.zeros(3, 1)) end
    local scaler = amp.GradScaler(options)
    local scaled = scaler:scale(dtype and amp.autocast({ dtype = dtype }, loss) or loss())
    t.eq(scaled.dtype, "f32")
    return scaler:is_enabled()
  end
  t.eq({ enabled_after "bf16", enabled_after "f16", enabled_after() }, { false, true, true })
  t.eq(enabled_after("bf16", { force = true }), true)
end)

t.test("the state goes on where it was", function()
  local scaler, optimizer, go = setup { growth_interval = 3 }
  for _ = 1, 4 do
    go()
    scaler:step(optimizer)
    scaler:update()
    optimizer:zero_grad()
  end
  local saved = scaler:state_dict()
  t.eq(saved, {
    scale = 8.0, growth_factor = 2.0, backoff_factor = 0.5, growth_interval = 3,
    _growth_tracker = 1,
  })
  local other = amp.GradScaler {}
  other:load_state_dict(saved)
  t.eq(other:state_dict(), saved)
  t.error_like(function() other:load_state_dict {} end, { code = "E_SCALER_EMPTY_STATE" })
  t.error_like(function() other:load_state_dict { scale = 2 } end,
    { code = "E_STATE", message = "has no number 'growth_factor'" })
  saved.scale = -1
  t.error_like(function() other:load_state_dict(saved) end, { code = "E_SCALER_ARG" })
  go()
  scaler:unscale_(optimizer)
  t.error_like(function() scaler:state_dict() end, { code = "E_SCALER_MID_STEP" })
end)

t.test("an optimizer without gradients: why", function()
  local scaler, optimizer, go, p = setup()
  local other = optim.SGD({ one() }, {})
  local function reason(f)
    local _, err = pcall(f)
    t.eq(err.code, "E_SCALER_NO_GRADS")
    return err.facts[1]
  end
  scaler:scale(p:sum())
  t.eq(reason(function() scaler:step(optimizer) end),
    "params[1]    backward of a scaled loss has not run")
  scaler:scale(p:detach():sum())
  t.eq(reason(function() scaler:step(optimizer) end),
    "params[1]    the scaled loss has no graph: it was detached")
  go()
  t.eq(reason(function() scaler:unscale_(other) end),
    "params[1]    the scaled loss does not lead back to it")
  p:requires_grad_(false)
  p.grad = nil
  t.eq(reason(function() scaler:step(optimizer) end),
    "params[1]    does not require a gradient")
end)

t.test("allow_empty makes that an empty step", function()
  local scaler, optimizer = setup { allow_empty = true, growth_interval = 5 }
  scaler:scale(rille.ones(1))
  t.eq((scaler:step(optimizer)), true)
  scaler:update()
  t.eq({ optimizer.step_count, scaler:get_growth_tracker() }, { 1, 1 })
end)

t.test("group decides for all ranks", function()
  local asked = {}
  local scaler, optimizer, go, p = setup {
    group = function(found)
      asked[#asked + 1] = found
      return true
    end,
  }
  go()
  t.eq({ (scaler:step(optimizer)) }, { false })
  scaler:update()
  t.eq({ asked, p:item(), scaler:get_scale() }, { { false }, 1.0, 2.0 })
  local silent = setup { group = function() end }
  silent:scale(rille.ones(1))
  t.error_like(function()
    local q = one()
    q.grad = rille.ones(1)
    silent:step(optim.SGD({ q }, {}))
  end, { code = "E_TYPE", message = "'group' must return" })
end)

t.test("step gives what the optimizer's step returned, and refuses closures", function()
  local scaler, optimizer, go = setup()
  go()
  t.error_like(function() scaler:step(optimizer, function() end) end,
    { code = "E_SCALER_CLOSURE" })
  local mine = {
    name = "Mine", groups = optimizer.groups, step = function(_, x) return x end,
  }
  t.eq({ scaler:step(mine, 7) }, { true, 7 })
  t.error_like(function() scaler:step {} end, { code = "E_TYPE", message = "an optimizer" })
end)

t.test("a step that raised can be tried again: its gradients are unscaled once", function()
  local scaler, optimizer, go, p = setup()
  go()
  local mine = {
    name = "Mine", groups = optimizer.groups, step = function() error "no" end,
  }
  t.error_like(function() scaler:step(mine) end, "no")
  mine.step = function() end
  t.eq({ scaler:step(mine), p.grad:item() }, { true, 1.0 })
end)

local project = arg[0]:match "^(.*)/tests/" or "."

-- A number as Python writes it. A parameter that is no longer finite, from a step that was taken
-- with gradients of after the check, may be nan in one and infinite in the other.
local function number(text)
  local value = tonumber(text)
  return value and value - value == 0 and value or math.huge
end

-- A line of scaler_sequences.txt; scaler_sequences.py says what the letters mean.
local function replay(line)
  local init, interval, letters, outcomes, scale, tracker, first, second =
    line:match "^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$"
  local p, q = one(), one()
  local opts = { optim.SGD({ p }, { lr = 0.125 }), optim.SGD({ q }, { lr = 0.125 }) }
  local scaler = amp.GradScaler {
    init_scale = tonumber(init), growth_interval = math.tointeger(interval), min_scale = 0,
  }
  local function backward(a, b) scaler:scale((p * a + q * b):sum()):backward() end
  local act = {
    s = function() backward(1.0, 1.0) end,
    S = function() backward(math.huge, 1.0) end,
    T = function() backward(1.0, math.huge) end,
    u = function() scaler:unscale_(opts[1]) end,
    U = function() scaler:unscale_(opts[2]) end,
    p = function() return scaler:step(opts[1]) end,
    P = function() return scaler:step(opts[2]) end,
    d = function() scaler:update() end,
    n = function() scaler:update(8.0) end,
    z = function()
      opts[1]:zero_grad()
      opts[2]:zero_grad()
    end,
  }
  local seen = {}
  for i = 1, #letters do
    local fine, stepped = pcall(act[letters:sub(i, i)])
    seen[i] = not fine and "x" or stepped == false and "-" or "."
  end
  t.eq(table.concat(seen), outcomes, letters)
  t.near({ scaler:get_scale(), scaler:get_growth_tracker(), number(p:item()), number(q:item()) },
    { number(scale), number(tracker), number(first), number(second) }, 1e-6, letters)
end

t.test("random sequences of calls do what PyTorch's scaler does", function()
  local most = os.getenv "RILLE_GC_STRESS" and 25 or math.huge
  local count = 0
  for line in io.lines(project .. "/tests/support/scaler_sequences.txt") do
    if not line:match "^#" and count < most then
      replay(line)
      count = count + 1
    end
  end
  t.eq(count, most == math.huge and 1000 or most)
end)

t.test("which gradients are scaled is known until they are unscaled or gone", function()
  local scaler, optimizer, go, p = setup()
  local function scaled() return native.has_scaled_grad(p) end
  local seen = { scaled() }
  go()
  seen[2] = scaled()
  scaler:unscale_(optimizer)
  seen[3] = scaled()
  go()
  optimizer:zero_grad()
  p:sum():backward()
  seen[4] = scaled()
  rille.grad({ scaler:scale(p:sum()) }, { p })
  seen[5] = scaled()
  p.grad = nil
  local both = scaler:scale(p:sum()) / 4 + p:sum()
  both:backward()
  seen[6] = scaled()
  p.grad = rille.ones(1)
  seen[7] = scaled()
  t.eq(seen, { false, true, false, false, false, true, false })
end)

t.test("what says that it has groups without end is not an optimizer", function()
  local endless = setmetatable({}, { __index = function() return {} end })
  local scaler = rille.amp.GradScaler { init_scale = 4 }
  for _, wrong in ipairs { endless, { groups = endless }, { groups = { endless } } } do
    t.error_like(function() scaler:unscale_(wrong) end, { code = "E_TYPE" })
    t.error_like(function() rille.optim.lr.Linear(wrong) end, { code = "E_TYPE" })
    t.error_like(function() rille.optim.lr.Plateau(wrong) end, { code = "E_TYPE" })
  end
end)

