-- What schedules refuse, with what words: on the user's line, where the value is given.
local t = require "support.test"
local refused = require "support.refused"
local rille = require "rille"
local lr, optim = rille.optim.lr, rille.optim

local function optimizer()
  return { groups = { { lr = 1.0, betas = { 0.9, 0.999 } } }, step_count = 0 }
end

local opt = optimizer()

refused("schedules take their options within their ranges", {
  { function() lr.CosineRestarts(opt, { steps = 0 }) end, "E_ARG",
    "'steps' must be at least 1, got 0" },
  { function() lr.CosineRestarts(opt, { steps = 5, mult = 0.5 }) end, "E_ARG",
    "'mult' must be at least 1, got 0.5" },
  { function() lr.Cosine(opt, { steps = 0 }) end, "E_ARG", "'steps' must be at least 1, got 0" },
  { function() lr.Cosine(opt, { steps = 0 / 0 }) end, "E_ARG", "'steps' must be at least 1, got" },
  { function() lr.Polynomial(opt, { steps = 0 }) end, "E_ARG",
    "'steps' must be at least 1, got 0" },
  { function() lr.Linear(opt, { steps = 0 }) end, "E_ARG", "'steps' must be at least 1, got 0" },
  { function() lr.LinearWarmup(opt, { steps = -1 }) end, "E_ARG",
    "'steps' must be at least 0, got -1" },
  { function() lr.Step(opt, { size = 0 }) end, "E_ARG", "'size' must be above 0, got 0" },
  { function() lr.Step(opt, { size = "x" }) end, "E_TYPE",
    "'size' must be a number, got string 'x'" },
  { function() lr.Step(opt, { sise = 2 }) end, "E_OPTION",
    "unknown option 'sise' (did you mean 'size'?)" },
  { function() lr.Step(opt, { 2 }) end, "E_OPTION", "unknown option '1'" },
  { function() lr.Step(opt) end, "E_ARG", "'size' is missing" },
  { function() lr.Step({}, { size = 2 }) end, "E_TYPE",
    "'optimizer' must be an optimizer, got a table" },
  { function() lr.OneCycle(opt, { max_lr = "a", steps = 3 }) end, "E_TYPE",
    "'max_lr' must be a number, got string 'a'" },
  { function() lr.OneCycle(opt, { max_lr = 1, steps = 3, anneal = "sin" }) end, "E_TYPE",
    "'anneal' must be 'cos' or 'linear', got string 'sin'" },
  { function() lr.OneCycle(opt, { max_lr = 1, steps = 3, pct_start = 2 }) end, "E_ARG",
    "'pct_start' must be at most 1, got 2" },
  { function() lr.MultiStep(opt, { milestones = 5 }) end, "E_TYPE",
    "'milestones' must be a list, got 5" },
  { function() lr.MultiStep(opt, { milestones = { 1, "x" } }) end, "E_TYPE",
    "'milestones[2]' must be a number, got string 'x'" },
  { function() lr.Cyclic(opt, { base_lr = 0, max_lr = 1, mode = "bogus" }) end, "E_TYPE",
    "'mode' must be 'triangular', 'triangular2' or 'exp_range', got string 'bogus'" },
  { function() lr.Lambda(opt, 5) end, "E_TYPE", "'options' must be a table, got 5" },
  { function() lr.Lambda(opt, { factor = function() return "x" end }) end, "E_TYPE",
    "'factor(step)' must be a number, got string 'x'" },
  { function() optim.warmup_cosine(opt, { warmup = "a", steps = 9 }) end, "E_TYPE",
    "'warmup' must be a number, got string 'a'" },
  { function() lr.chain(lr.Step(opt, { size = 1 }), 5) end, "E_ARG", "has no end" },
  { function() lr.chain(nil, 5) end, "E_TYPE", "'#1' must be a schedule, got nil" },
  { function() lr.Plateau(opt, { mode = "mni" }) end, "E_TYPE",
    "'mode' must be 'min' or 'max', got string 'mni'" },
  { function() lr.Plateau(opt, { factor = 1 }) end, "E_ARG", "'factor' must be below 1, got 1" },
  { function() lr.Plateau(5) end, "E_TYPE", "'optimizer' must be an optimizer, got 5" },
})

local schedule, plateau = lr.Step(optimizer(), { size = 2 }), lr.Plateau(optimizer())

refused("so do their methods", {
  { function() schedule:at("x") end, "E_TYPE", "'step' must be a number, got string 'x'" },
  { function() schedule:at(-1) end, "E_ARG", "'step' must be at least 0, got -1" },
  { function() schedule:at(1, 2) end, "E_ARG", "'group' must be at most 1, got 2" },
  { function() schedule:load_state_dict {} end, "E_TYPE",
    "'state.step' must be an integer, got nil" },
  { function() schedule:load_state_dict(5) end, "E_TYPE", "'state' must be a table, got 5" },
  { function() plateau:step() end, "E_TYPE", "'metric' must be a number, got nil" },
  { function() plateau:load_state_dict {} end, "E_TYPE",
    "'state.best' must be a number, got nil" },
})

t.test("what a schedule refused leaves it as it was", function()
  t.eq(schedule:state_dict(), { step = 0 })
  t.eq(plateau.best, math.huge)
end)

t.test("a cycle whose rise is one step begins at its peak", function()
  local cycle = lr.OneCycle(optimizer(), { max_lr = 1.0, steps = 10, pct_start = 0.1 })
  t.near(cycle:at(0), 1.0)
  t.near(cycle:at(9), 4e-6)
end)

t.test("restarts of equal length take no longer the later they are", function()
  local restarts = lr.CosineRestarts(optimizer(), { steps = 3 })
  t.near(restarts:at(3000000000001), restarts:at(1), 1e-12)
end)

t.test("nor do restarts that hardly grow", function()
  local steps, mult, late = 10, 1.001, 1000000.5
  local begun, length = 0, steps
  while begun + length <= late do begun, length = begun + length, length * mult end
  local wanted = (1 + math.cos(math.pi * (late - begun) / length)) / 2
  t.near(lr.CosineRestarts(optimizer(), { steps = steps, mult = mult }):at(late), wanted, 1e-6)
  local rate = lr.CosineRestarts(optimizer(), { steps = 1, mult = 1 + 1e-15 }):at(2 ^ 60)
  t.ok(rate >= 0 and rate <= 1)
end)

t.test("warmup_cosine is called so in its errors", function()
  local function text(f)
    local fine, err = pcall(f)
    t.ok(not fine)
    return ("%s: %s"):format(err.op, err.message)
  end
  t.eq(text(function() optim.warmup_cosine(opt, { warmup = 3 }) end),
    "warmup_cosine: 'steps' is missing")
  t.eq(text(function() optim.warmup_cosine(opt, { warmup = 3, stesp = 9 }) end),
    "warmup_cosine: unknown option 'stesp' (did you mean 'steps'?)")
  local made = optim.warmup_cosine(optimizer(), { warmup = 3, steps = 9 })
  t.eq(text(function() made:at(-1) end), "warmup_cosine.at: 'step' must be at least 0, got -1")
  t.eq(text(function() lr.WarmupCosine(opt, { warmup = 3 }) end),
    "WarmupCosine: 'steps' is missing")
end)
