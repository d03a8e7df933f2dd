-- Steps during backward against the ordinary three calls, bit for bit: each optimizer, groups,
-- schedules, tied weights, resumed state; the memory of gradients; what it refuses.
local t = require "support.test"
local rille = require "rille"
local nn, optim = rille.nn, rille.optim
local MiB = 2 ^ 20

-- The bits of a model, as text.
local function bits(model)
  local parts = {}
  for name, p in model:named_parameters() do
    local values = p:detach():to("f64"):flatten():tolist()
    for i, v in ipairs(values) do values[i] = ("%a"):format(v) end
    parts[#parts + 1] = name .. " " .. table.concat(values, " ")
  end
  return table.concat(parts, "\n")
end

local function net()
  rille.seed(3)
  return nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))
end

-- `count` steps; the losses, as exact text.
local function train(model, optimizer, count, after)
  local losses = {}
  rille.seed(9)
  for i = 1, count do
    local x, y = rille.randn(5, 6), rille.randint(0, 2, { 5 })
    optimizer:zero_grad()
    local loss = rille.cross_entropy(model(x), y)
    loss:backward()
    optimizer:step()
    if after then after(i) end
    losses[i] = ("%a"):format(loss:item())
  end
  return losses
end

-- Both ways from the same start; make(model) -> optimizer, schedule?
local function same(title, make, dtype)
  t.test(title, function()
    local results = {}
    for way = 1, 2 do
      local model = net()
      if dtype then model:to(dtype) end
      local optimizer, schedule = make(model)
      local fused <close> = way == 2 and optim.fused_backward(optimizer) or nil
      local run = dtype and function(x) return model(x:to(dtype)):to "f32" end or model
      local losses = train(run, optimizer, 6, function()
        if schedule then schedule:step() end
        if fused then
          for _, group in ipairs(optimizer.groups) do
            for _, p in ipairs(group.params) do t.eq(p.grad, nil) end
          end
        end
      end)
      results[way] = {
        losses = losses, bits = bits(model), steps = optimizer.step_count,
        lr = optimizer.groups[1].lr,
      }
    end
    t.eq(results[2], results[1])
  end)
end

local function of(name, options)
  return function(model) return optim[name](model:parameters(), options) end
end

same("SGD", of("SGD", { lr = 0.1 }))
same("SGD with momentum", of("SGD", { lr = 0.1, momentum = 0.9, weight_decay = 0.01 }))
same("Adam", of("Adam", { lr = 0.01, amsgrad = true }))
same("AdamW", of("AdamW", { lr = 0.01 }))
same("AdamW with state in bf16", of("AdamW", { lr = 0.01, state_dtype = "bf16" }))
same("bf16 parameters with f32 copies", of("AdamW", { lr = 0.01, master_weights = true }), "bf16")
same("groups", function(model)
  return optim.AdamW({
    { params = { model[1].weight }, lr = 0.1, weight_decay = 0.5 },
    { params = { model[1].bias, model[4].weight, model[4].bias } },
  }, { lr = 0.01 })
end)
same("a schedule, which counts optimizer:step()", function(model)
  local optimizer = optim.SGD(model:parameters(), { lr = 0.1 })
  return optimizer, optim.warmup_cosine(optimizer, { warmup = 2, steps = 6 })
end)

t.test("eight-bit state draws as many numbers, the same in every run", function()
  local runs = {}
  for way = 1, 3 do
    local model = net()
    local optimizer = optim.AdamW(model:parameters(), { lr = 0.01, state_dtype = "f8_e4m3" })
    local fused <close> = way > 1 and optim.fused_backward(optimizer) or nil
    train(model, optimizer, 4)
    runs[way] = { bits = bits(model), drawn = rille.get_rng_state(), fused = fused ~= nil }
  end
  t.eq(runs[3], runs[2])
  t.eq(runs[2].drawn, runs[1].drawn)
end)

t.test("tied weights take one step, when the last of their gradients is there", function()
  local results = {}
  for way = 1, 2 do
    rille.seed(1)
    local embedding, head = nn.Embedding(7, 4), nn.Linear(4, 7, { bias = false })
    head.weight = embedding.weight
    local optimizer = optim.AdamW({ embedding.weight }, { lr = 0.1 })
    local fused <close> = way == 2 and optim.fused_backward(optimizer) or nil
    for _ = 1, 3 do
      local ids = rille.tensor({ 1, 5, 2 }, { dtype = "i64" })
      rille.cross_entropy(head(embedding(ids)), ids):backward()
      optimizer:step()
      optimizer:zero_grad()
    end
    results[way] = { bits(embedding), optimizer:state_dict().state["1"].step, fused and 1 }
  end
  results[2][3] = nil
  t.eq(results[2], results[1])
end)

t.test("a parameter without a gradient stays, its step count too", function()
  local a, b = nn.Parameter(rille.ones(2)), nn.Parameter(rille.ones(2))
  local optimizer = optim.Adam({ a, b }, { lr = 0.1 })
  local fused <close> = optim.fused_backward(optimizer)
  a:sum():backward()
  optimizer:step()
  t.eq(b:tolist(), { 1, 1 })
  t.eq(optimizer.state[b], nil)
  t.eq(optimizer.state[a].step, 1)
  t.ok(tostring(fused):find "Adam, 2 parameters")
end)

t.test("step takes gradients that came in another way", function()
  local a, b = nn.Parameter(rille.ones(2)), nn.Parameter(rille.ones(2))
  local optimizer = optim.SGD({ a, b }, { lr = 0.5 })
  local _ <close> = optim.fused_backward(optimizer)
  b.grad = rille.ones(2)
  a:sum():backward()
  t.eq(a:tolist(), { 0.5, 0.5 })
  t.eq(b:tolist(), { 1, 1 })
  optimizer:step()
  t.eq(a:tolist(), { 0.5, 0.5 })
  t.eq(b:tolist(), { 0.5, 0.5 })
  t.eq(optimizer.step_count, 1)
end)

t.test("two losses of different parameters are one step", function()
  local a, b = nn.Parameter(rille.ones(1)), nn.Parameter(rille.ones(1))
  local optimizer = optim.SGD({ a, b }, { lr = 0.5 })
  local _ <close> = optim.fused_backward(optimizer)
  a:sum():backward()
  b:sum():backward()
  optimizer:step()
  t.eq({ a:item(), b:item(), optimizer.step_count }, { 0.5, 0.5, 1 })
end)

t.test("a closure that runs backward once is a step like any other", function()
  local results = {}
  for way = 1, 2 do
    local w = nn.Parameter(rille.tensor { 1.0, 2.0 })
    local optimizer = optim.AdamW({ w }, { lr = 0.1 })
    local fused <close> = way == 2 and optim.fused_backward(optimizer) or nil
    local list = {}
    for i = 1, 3 do
      list[i] = optimizer:step(function()
        optimizer:zero_grad()
        local loss = (w * w):sum()
        loss:backward()
        return loss
      end):item()
    end
    results[way] = { list, w:tolist(), optimizer.step_count, fused and 1 }
  end
  results[2][4] = nil
  t.eq(results[2], results[1])
end)

t.test("stats are those of all parameters", function()
  local results = {}
  for way = 1, 2 do
    local model = net()
    local optimizer = optim.SGD(model:parameters(), { lr = 0.1, stats = true })
    local _ <close> = way == 2 and optim.fused_backward(optimizer) or nil
    train(model, optimizer, 2)
    results[way] = optimizer:stats()
  end
  t.near(results[2].update_norm, results[1].update_norm, 1e-9)
  t.near(results[2].param_norm, results[1].param_norm, 1e-9)
  t.eq(results[2].lost_updates, results[1].lost_updates)
end)

t.test("a run that is resumed from its state goes on with the same bits", function()
  local straight, model = net(), net()
  local function make(of_model) return optim.AdamW(of_model:parameters(), { lr = 0.01 }) end
  local function steps(of_model, optimizer, first, last)
    local _ <close> = optim.fused_backward(optimizer)
    for i = first, last do
      rille.seed(i)
      of_model(rille.randn(4, 6)):square():mean():backward()
      optimizer:step()
    end
  end
  steps(straight, make(straight), 1, 6)
  local before = make(model)
  steps(model, before, 1, 3)
  local after = make(model)
  after:load_state_dict(before:state_dict())
  steps(model, after, 4, 6)
  t.eq(bits(model), bits(straight))
  t.eq(after.step_count, 6)
end)

t.test("after close, or the scope's end, gradients are kept again", function()
  local w = nn.Parameter(rille.ones(2))
  local optimizer = optim.SGD({ w }, { lr = 0.5 })
  local fused = optim.fused_backward(optimizer)
  fused:close()
  fused:close()
  w:sum():backward()
  t.eq(w.grad:tolist(), { 1, 1 })
  t.eq(w:tolist(), { 1, 1 })
  nn.utils.clip_grad_norm_({ w }, 1.0)
  do local _ <close> = optim.fused_backward(optimizer) end
  w.grad = nil
  w:sum():backward()
  t.eq(w.grad:tolist(), { 1, 1 })
end)

t.test("an optimizer that is dropped takes its hooks along", function()
  local w = nn.Parameter(rille.ones(2))
  do optim.fused_backward(optim.SGD({ w }, { lr = 0.5 })) end
  collectgarbage()
  collectgarbage()
  w:sum():backward()
  t.eq(w.grad:tolist(), { 1, 1 })
  t.eq(w:tolist(), { 1, 1 })
end)

t.test("parameters that are dropped with it are freed", function()
  collectgarbage()
  collectgarbage()
  local before = rille.memory.allocated()
  do
    local w = nn.Parameter(rille.ones(1000))
    optim.fused_backward(optim.SGD({ w }, { lr = 0.5 }))
  end
  for _ = 1, 4 do collectgarbage() end
  t.eq(rille.memory.allocated(), before)
end)

-- Eight layers of 1 MiB: with all gradients alive at once there are 8 MiB of them.
t.test("one gradient lives at a time", function()
  local function most(fuse)
    rille.seed(1)
    local layers = {}
    for i = 1, 8 do layers[i] = nn.Linear(512, 512, { bias = false }) end
    local model = nn.Sequential(table.unpack(layers))
    local optimizer = optim.SGD(model:parameters(), { lr = 0.01 })
    local fused <close> = fuse and optim.fused_backward(optimizer) or nil
    local x, peak, losses = rille.randn(4, 512), 0, {}
    for i = 1, 3 do
      collectgarbage()
      collectgarbage()
      rille.memory.reset_peak()
      local before = rille.memory.allocated()
      local loss = model(x):square():mean()
      losses[i] = ("%a"):format(loss:item())
      loss:backward()
      optimizer:step()
      optimizer:zero_grad()
      peak = math.max(peak, rille.memory.peak() - before)
    end
    t.ok(fuse == (fused ~= nil))
    return peak, losses
  end
  local plain, losses = most(false)
  local fused, same_losses = most(true)
  t.eq(same_losses, losses)
  t.ok(plain >= 8 * MiB, ("%.2f MiB without"):format(plain / MiB))
  t.ok(fused <= 2.5 * MiB, ("%.2f MiB with"):format(fused / MiB))
end)

-- ---- what is refused

local function fused_pair()
  local w = nn.Parameter(rille.ones(2))
  local optimizer = optim.SGD({ w }, { lr = 0.5 })
  return w, optimizer, optim.fused_backward(optimizer)
end

t.test("a second gradient before step is refused, and freed", function()
  local w, optimizer, fused = fused_pair()
  w:sum():backward()
  t.error_like(function() w:sum():backward() end, { code = "E_FUSED_TWICE", kind = "state" })
  t.eq(w.grad, nil)
  t.eq(w:tolist(), { 0.5, 0.5 })
  optimizer:step()
  w:sum():backward()
  t.eq(w:tolist(), { 0, 0 })
  fused:close()
end)

t.test("clipping is refused: nothing would be clipped", function()
  local w, _, fused = fused_pair()
  w:sum():backward()
  t.error_like(function() nn.clip_grad_norm_({ w }, 1.0) end, { code = "E_FUSED_CLIP" })
  t.error_like(function() nn.utils.clip_grad_norm_(w, 1.0) end, { code = "E_FUSED_CLIP" })
  t.error_like(function() nn.clip_grad_value_({ w }, 1.0) end, { code = "E_FUSED_CLIP" })
  fused:close()
end)

t.test("gradients of a scaled loss are refused before they are stepped with", function()
  local w, optimizer, fused = fused_pair()
  local scaler = rille.amp.GradScaler()
  t.error_like(function() scaler:scale(w:sum()):backward() end, { code = "E_FUSED_SCALER" })
  t.eq(w:tolist(), { 1, 1 })
  t.eq(w.grad, nil)
  t.error_like(function() scaler:unscale_(optimizer) end, { code = "E_FUSED_SCALER" })
  t.error_like(function() scaler:step(optimizer) end, { code = "E_FUSED_SCALER" })
  local off = rille.amp.GradScaler { enabled = false }
  off:scale(w:sum()):backward()
  off:step(optimizer)
  off:update()
  t.eq(w:tolist(), { 0.5, 0.5 })
  fused:close()
end)

t.test("create_graph is refused before anything is stepped", function()
  local w, _, fused = fused_pair()
  t.error_like(function() (w * w):sum():backward { create_graph = true } end,
    { code = "E_FUSED_CREATE_GRAPH" })
  t.eq(w:tolist(), { 1, 1 })
  fused:close()
end)

t.test("LBFGS, what is no optimizer, and a second time are refused", function()
  local w, optimizer, fused = fused_pair()
  t.error_like(function() optim.fused_backward(optim.LBFGS { w }) end,
    { code = "E_FUSED_CLOSURE" })
  t.error_like(function() optim.fused_backward(optimizer) end, { code = "E_STATE" })
  t.error_like(function() optim.fused_backward(optim.SGD { w }) end, { code = "E_STATE" })
  for _, wrong in ipairs { 1, "SGD", true, {}, w, { groups = {} } } do
    t.error_like(function() optim.fused_backward(wrong) end, { code = "E_TYPE" })
  end
  t.error_like(function() optim.fused_backward() end, { code = "E_TYPE" })
  fused:close()
end)
