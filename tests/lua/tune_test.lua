-- rille.tune.batch_size: what it finds against what a step takes, what it leaves as it was, what it
-- refuses.
local t = require "support.test"
local rille = require "rille"
local nn, optim = rille.nn, rille.optim
local MiB = 2 ^ 20

-- A model, its optimizer and a step of it with as many samples as are asked for.
local function trained(dtype)
  rille.seed(1)
  local model = nn.Sequential(nn.Linear(256, 512), nn.BatchNorm1d(512), nn.GELU(), nn.Dropout(0.1),
    nn.Linear(512, 10))
  local optimizer = optim.AdamW(model:parameters(), { lr = 1e-3 })
  local function step(n)
    local x, y = rille.randn(n, 256), rille.randint(0, 9, n)
    optimizer:zero_grad()
    local loss
    do
      local _ <close> = rille.amp.autocast { dtype = dtype, enabled = dtype ~= nil }
      loss = rille.cross_entropy(model(x), y)
    end
    loss:backward()
    optimizer:step()
    return loss
  end
  return model, optimizer, step
end

local function measured(step, n)
  local most = 0
  for i = 1, 4 do
    rille.memory.reset_peak()
    step(n)
    if i > 1 then most = math.max(most, rille.memory.peak()) end
  end
  return most
end

local function collect()
  collectgarbage()
  collectgarbage()
end

for _, dtype in ipairs { "off", "bf16" } do
  t.test("the largest batch fills the memory, " .. dtype, function()
    collect()
    local model, optimizer, step = trained(dtype ~= "off" and dtype or nil)
    local room = rille.memory.allocated() + 24 * MiB
    local batch, figures = rille.tune.batch_size {
      step = step, model = model, optimizer = optimizer, memory = room, min = 2,
    }
    t.ok(batch > 100 and math.type(batch) == "integer", tostring(batch))
    t.eq(figures.memory, math.floor(room))
    local fits, least_refused = {}, math.huge
    for _, f in ipairs(figures) do
      fits[f.batch] = f.fits
      t.eq(f.fits, f.peak <= room)
      if not f.fits then least_refused = math.min(least_refused, f.batch) end
    end
    t.ok(fits[batch], "what it gives was not tried")
    t.eq(least_refused, batch + 1)
    collect()
    local most = measured(step, batch)
    t.ok(math.abs(most - room) < 0.1 * room, ("%d of %d bytes"):format(most, room))
  end)
end

t.test("multiples, bounds, powers", function()
  local model, optimizer, step = trained()
  local function find(more)
    local o = { step = step, model = model, optimizer = optimizer, memory = "40MiB", min = 2 }
    for name, value in pairs(more) do o[name] = value end
    return rille.tune.batch_size(o)
  end
  local free = find {}
  local eights = find { multiple_of = 8 }
  t.eq(eights % 8, 0)
  t.ok(free - eights >= 0 and free - eights < 8, free .. " " .. eights)
  local power, figures = find { mode = "power" }
  t.ok(power <= free and 2 * power > free, free .. " " .. power)
  for i = 2, #figures do t.eq(figures[i].batch, 2 * figures[i - 1].batch) end
  t.eq(find { max = 100 }, 100)
  t.eq(find { max = 100, mode = "power" }, 64)
  t.eq(find { max = 100, multiple_of = 8 }, 96)
  t.eq(find { min = 6, max = 6 }, 6)
  t.eq((find { min = 3, max = 9, multiple_of = 4 }), 8)
end)

t.test("the limit that is set, and what others hold, count", function()
  local model, optimizer, step = trained()
  collect()
  local before = rille.memory.limit()
  local _ <close> = setmetatable({}, { __close = function() rille.memory.limit(before or 0) end })
  rille.memory.limit(math.floor(rille.memory.allocated() + 32 * MiB))
  local function find()
    return (rille.tune.batch_size { step = step, model = model, optimizer = optimizer, min = 2 })
  end
  local alone = find()
  local other = rille.zeros(4, 1024, 1024)
  local beside = find()
  t.ok(beside < alone, beside .. " " .. alone)
  t.eq(other:numel(), 4 * 1024 * 1024)
  collect()
  step(beside)                                           -- would raise E_OOM_BUDGET
end)

-- Losses as exact text, with a search after the third step or without one.
local function losses_of(search)
  local model, optimizer, step = trained()
  local schedule = optim.lr.Exponential(optimizer, { gamma = 0.9 })
  local scaler = rille.amp.GradScaler()
  math.randomseed(5)
  local losses = {}
  local function note(value) losses[#losses + 1] = ("%a"):format(value) end
  for _ = 1, 3 do
    note(step(16):item())
    schedule:step()
  end
  local pending = model(rille.randn(4, 256)):square():sum()
  local grad = model[1].weight.grad
  local mean = model[2].running_mean
  if search then
    rille.tune.batch_size {
      model = model, optimizer = { optimizer, schedule, scaler }, memory = "16MiB", min = 2,
      step = function(n)
        optimizer:zero_grad()
        local loss = rille.cross_entropy(model(rille.randn(n, 256)), rille.randint(0, 9, n))
        scaler:scale(loss):backward()
        scaler:unscale_(optimizer)
        nn.clip_grad_norm_(model:parameters(), 1.0)
        scaler:step(optimizer)
        scaler:update()
        schedule:step()
        model.extra = math.random()
        rille.log { loss = loss }
      end,
    }
  end
  t.ok(rawequal(model[1].weight.grad, grad) or model[1].weight.grad:equal(grad))
  t.ok(rawequal(model[2].running_mean, mean))
  t.eq(rawget(model, "extra"), nil)
  pending:backward()                                     -- its graph is whole
  for _ = 1, 3 do
    note(step(16):item())
    schedule:step()
  end
  note(math.random())
  note(optimizer.groups[1].lr)
  note(optimizer.step_count)
  for _, p in model:named_parameters() do
    t.eq(p.device, "cpu")
    note(p:detach():to("f64"):sum():item())
  end
  for _, b in model:named_buffers() do note(b:to("f64"):sum():item()) end
  return losses
end

t.test("parameters, gradients, state and random numbers stay as they are", function()
  t.eq(losses_of(true), losses_of(false))
end)

t.test("an optimizer that has not stepped has no state afterwards", function()
  local model, optimizer, step = trained()
  rille.tune.batch_size { step = step, model = model, optimizer = optimizer, memory = "16MiB",
    min = 2 }
  t.eq(next(optimizer.state), nil)
  t.eq(optimizer.step_count, 0)
  t.eq(model[1].weight.grad, nil)
end)

t.test("an error in step leaves all as it was", function()
  local model, optimizer, step = trained()
  local calls = 0
  t.error_like(function()
    rille.tune.batch_size {
      model = model, optimizer = optimizer, memory = "16MiB", min = 2,
      step = function(n)
        step(n)
        calls = calls + 1
        if calls == 5 then error("enough", 0) end
      end,
    }
  end, "enough")
  t.eq(model[1].weight.device, "cpu")
  t.eq(rille.default_device(), "cpu")
  t.eq(next(optimizer.state), nil)
  t.ok(step(4):item() > 0)
end)

t.test("a model that step makes, tensors that it reads", function()
  local mask = rille.ones(64)
  local batch = rille.tune.batch_size {
    memory = rille.memory.allocated() + 4 * MiB, tensors = { mask },
    step = function(n)
      local model = nn.Linear(64, 64)
      model(rille.randn(n, 64) * mask):square():mean():backward()
    end,
  }
  t.ok(batch > 64, tostring(batch))
  t.eq(mask:sum():item(), 64.0)
end)

t.test("what it refuses", function()
  local model, optimizer, step = trained()
  local function refuses(options, wanted)
    wanted.op = wanted.op or "tune.batch_size"
    t.error_like(function() rille.tune.batch_size(options) end, wanted)
  end
  refuses(nil, { code = "E_ARG", message = "'step' is missing" })
  refuses({ step = 3 }, { code = "E_TYPE", message = "'step' must be a function" })
  refuses({ step = step, modle = model }, { code = "E_OPTION", message = "'modle'" })
  refuses({ step = step, memory = "8bananas" },
    { code = "E_ARG", message = "'memory' must be a size such as '8GiB', got string '8bananas'" })
  refuses({ step = step, memory = 0 }, { code = "E_ARG", message = "got 0" })
  refuses({ step = step, min = 0 }, { message = "'min'" })
  refuses({ step = step, min = 9, max = 8 },
    { code = "E_ARG", message = "no multiple of 1 is from 9 to 8" })
  refuses({ step = step, mode = "golden" }, { message = "'binsearch' or 'power'" })
  refuses({ step = step, model = model, optimizer = optimizer, min = 2, memory = "1MiB" },
    { code = "E_OOM_BUDGET", kind = "memory", message = "a step with a batch of 2 takes" })
  t.error_like(function()
    rille.tune.batch_size { model = model, step = function(n)
      return model(rille.randn(n + 1, 256)):sum():item()
    end }
  end, { code = "E_NO_KERNEL", hint = "must not read values" })
  t.error_like(function()
    rille.tune.batch_size { step = function(n) return model(rille.randn(n + 1, 256)) end }
  end, { code = "E_DEVICE_MISMATCH", hint = "name what 'step' reads" })
end)
