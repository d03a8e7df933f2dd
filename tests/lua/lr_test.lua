-- Schedules: the sequences of support/schedules.lua, and what a schedule does with an optimizer.
local t = require "support.test"
local rille = require "rille"
local lr = rille.optim.lr

-- What a schedule needs of an optimizer.
local function optimizer()
  return { groups = { { lr = 1.0, betas = { 0.9, 0.999 } } }, step_count = 0 }
end

local function values(schedule, n)
  local list = {}
  for step = 0, n - 1 do list[step + 1] = schedule:at(step) end
  return list
end

local function check(name, options, wanted)
  t.test(name, function()
    t.near(values(lr[name](optimizer(), options), #wanted), wanted, 2e-6)
  end)
end

for _, sequence in ipairs(require "support.schedules") do
  check(sequence.name, sequence.options, sequence.values)
end
check("Lambda", function(step) return 1 / (step + 1) end, { 1, .5, 1 / 3 })

-- By hand, from their definitions.
check("Cyclic", { base_lr = .1, max_lr = 1.0, up = 3, mode = "triangular2" },
  { .1, .4, .7, 1, .7, .4, .1, .25, .4, .55, .4, .25, .1 })
check("Cyclic", { base_lr = .1, max_lr = 1.0, up = 3, mode = "exp_range", gamma = 0.5 },
  { .1, .25, .25, .2125 })
check("Cyclic", { base_lr = 0, max_lr = 1.0, up = 2, down = 4 },
  { 0, .5, 1, .75, .5, .25, 0, .5 })
check("WarmupStableDecay", { warmup = 2, stable = 2, decay = 4, min_lr = 0.1 },
  { 1 / 3, 2 / 3, 1, 1, 1, .775, .55, .325, .1, .1 })

-- As anyone writes them in Lua; the engine rounds where that does, on every machine.
local plain = {
  Step = { { size = 7, gamma = 0.9 }, function(step) return 0.3 * 0.9 ^ (step // 7) end },
  Exponential = { { gamma = 0.997 }, function(step) return 0.3 * 0.997 ^ step end },
  Linear = { { start = 0.1, stop = 0.8, steps = 777 },
    function(step) return 0.3 * (0.1 + (0.8 - 0.1) * math.min(step, 777) / 777) end },
  Polynomial = { { steps = 999, power = 2 },
    function(step) return 0.3 * (1 - math.min(step, 999) / 999) ^ 2 end },
  Cosine = { { steps = 999, min_lr = 0.013 }, function(step)
    return 0.013 + (0.3 - 0.013) * (1 + math.cos(math.pi * (math.min(step, 999) / 999))) / 2
  end },
}

for name, case in pairs(plain) do
  t.test(name .. " is its formula, to the bit", function()
    local schedule = lr[name]({ groups = { { lr = 0.3 } }, step_count = 0 }, case[1])
    for step = 0, 1500 do t.eq(schedule:at(step), case[2](step), "step " .. step) end
  end)
end

t.test("a chain goes through its parts", function()
  local opt = optimizer()
  local warmup = lr.LinearWarmup(opt, { steps = 3, start = 0.1 })
  local chain = lr.chain(warmup, lr.Cosine(opt, { steps = 5 }))
  t.near(values(chain, 9), { .1, .4, .7, 1, .904508, .654508, .345492, .095492, 0 }, 2e-6)
  t.near(opt.groups[1].lr, 0.1)
end)

t.test("warmup_cosine is nanoGPT's", function()
  local schedule = rille.optim.warmup_cosine(optimizer(), { warmup = 3, steps = 7, min_lr = 0.1 })
  local half = 0.1 + 0.45 * (1 + math.cos(math.pi / 4))
  t.near(values(schedule, 9), { .25, .5, .75, 1, half, .55, 1.1 - half, .1, .1 }, 1e-9)
end)

t.test("a schedule moves only after a step of its optimizer", function()
  local opt = optimizer()
  local schedule = lr.Exponential(opt, { gamma = 0.5 })
  t.eq(schedule:step(), false)
  t.eq(opt.groups[1].lr, 1.0)
  for _, stepped in ipairs { true, true, false, true, true } do
    if stepped then opt.step_count = opt.step_count + 1 end
    t.eq(schedule:step(), stepped)
  end
  t.near(opt.groups[1].lr, 0.5 ^ 4)      -- five calls, one of them skipped
end)

t.test("a schedule's state is its step", function()
  local opt, other = optimizer(), optimizer()
  local schedule, resumed = lr.Cosine(opt, { steps = 9 }), lr.Cosine(other, { steps = 9 })
  for _ = 1, 4 do
    opt.step_count = opt.step_count + 1
    schedule:step()
  end
  resumed:load_state_dict(schedule:state_dict())
  t.eq(other.groups[1].lr, opt.groups[1].lr)
end)

t.test("OneCycle moves the momentum the other way", function()
  local opt = optimizer()
  local schedule = lr.OneCycle(opt, { max_lr = 1.0, steps = 10 })
  t.near(opt.groups[1].betas[1], 0.95)
  for _ = 1, 2 do
    opt.step_count = opt.step_count + 1
    schedule:step()
  end
  t.near(opt.groups[1].betas[1], 0.85)
end)

t.test("a group that is added later keeps its own rate", function()
  local opt = optimizer()
  local schedule = lr.Exponential(opt, { gamma = 0.5 })
  opt.groups[2], opt.step_count = { lr = 7.0 }, 1
  schedule:step()
  t.eq(schedule:get_last_lr(), { 0.5, 7.0 })
end)

t.test("Plateau lowers the rate after patience", function()
  local opt = optimizer()
  local schedule = lr.Plateau(opt, { patience = 1, factor = 0.5 })
  local rates = {}
  for i, metric in ipairs { 1.0, 0.5, 0.6, 0.6, 0.4, 0.4, 0.4, 0.4 } do
    schedule:step(metric)
    rates[i] = opt.groups[1].lr
  end
  t.near(rates, { 1, 1, 1, .5, .5, .5, .25, .25 })
end)

t.test("unknown and missing options are named", function()
  t.error_like(function() lr.Step(optimizer(), { sise = 3 }) end,
    { message = "did you mean 'size'" })
  t.error_like(function() lr.Step(optimizer(), {}) end, { message = "'size' is missing" })
  t.error_like(function() return lr.Cosin end, { message = "did you mean 'Cosine'" })
end)
