-- Learning rates as pure functions: each curve has options with defaults, `rate(options, step,
-- base)` for steps from 0, and `length(options)`, the steps after which it has come to its end
-- (nil: never). Values are those of the PyTorch scheduler of the same name.
local curves = {}

local function steps(o) return o.steps end

local function straight(from, to, part)
  return from + (to - from) * part
end

local function half_cosine(from, to, part)
  return to + (from - to) * (1 + math.cos(math.pi * part)) / 2
end

curves.Step = {
  options = { { "size" }, { "gamma", 0.1 } }, required = { "size" },
  rate = function(o, step, base) return base * o.gamma ^ (step // o.size) end,
}

curves.MultiStep = {
  options = { { "milestones" }, { "gamma", 0.1 } }, required = { "milestones" },
  rate = function(o, step, base)
    local passed = 0
    for _, milestone in ipairs(o.milestones) do
      if step >= milestone then passed = passed + 1 end
    end
    return base * o.gamma ^ passed
  end,
}

curves.Constant = {
  options = { { "factor", 1 / 3 }, { "steps", 5 } }, length = steps,
  rate = function(o, step, base) return step < o.steps and base * o.factor or base end,
}

curves.Linear = {
  options = { { "start", 1 / 3 }, { "stop", 1.0 }, { "steps", 5 } }, length = steps,
  rate = function(o, step, base)
    return base * (o.start + (o.stop - o.start) * math.min(step, o.steps) / o.steps)
  end,
}

-- Starts one step above zero unless `start` says otherwise: lr / (n + 1), 2 lr / (n + 1), ... lr.
curves.LinearWarmup = {
  options = { { "steps" }, { "start" } }, required = { "steps" }, length = steps,
  rate = function(o, step, base)
    local start = o.start or 1 / (o.steps + 1)
    return base * (start + (1 - start) * math.min(step, o.steps) / math.max(o.steps, 1))
  end,
}

curves.Exponential = {
  options = { { "gamma" } }, required = { "gamma" },
  rate = function(o, step, base) return base * o.gamma ^ step end,
}

curves.Polynomial = {
  options = { { "steps", 5 }, { "power", 1.0 } }, length = steps,
  rate = function(o, step, base)
    return base * (1 - math.min(step, o.steps) / o.steps) ^ o.power
  end,
}

-- Stays at min_lr after its steps; { periodic = true } rises again.
curves.Cosine = {
  options = { { "steps" }, { "min_lr", 0.0 }, { "periodic", false } }, required = { "steps" },
  length = function(o) return not o.periodic and o.steps or nil end,
  rate = function(o, step, base)
    if not o.periodic then step = math.min(step, o.steps) end
    return half_cosine(base, o.min_lr, step / o.steps)
  end,
}

curves.CosineRestarts = {
  options = { { "steps" }, { "mult", 1 }, { "min_lr", 0.0 } }, required = { "steps" },
  rate = function(o, step, base)
    local length = o.steps
    while step >= length do step, length = step - length, length * o.mult end
    return half_cosine(base, o.min_lr, step / length)
  end,
}

local function one_cycle_phases(o)
  local peak, last = o.pct_start * o.steps - 1, o.steps - 1
  local low, final = o.max_lr / o.div, o.max_lr / o.div / o.final_div
  if not o.three_phase then return { { peak, low, o.max_lr, 1 }, { last, o.max_lr, final, -1 } } end
  return {
    { peak, low, o.max_lr, 1 }, { 2 * peak, o.max_lr, low, -1 }, { last, low, final, 0 },
  }
end

-- Up to max_lr and down to almost nothing; momentum moves the other way. Stays at its last value.
curves.OneCycle = {
  options = {
    { "max_lr" }, { "steps" }, { "pct_start", 0.3 }, { "anneal", "cos" }, { "div", 25.0 },
    { "final_div", 1e4 }, { "three_phase", false }, { "cycle_momentum", true },
    { "base_momentum", 0.85 }, { "max_momentum", 0.95 },
  },
  required = { "max_lr", "steps" },
  length = function(o) return o.steps - 1 end,
  rate = function(o, step)
    local first, high, low = 0, o.max_momentum, o.base_momentum
    step = math.min(step, o.steps - 1)
    local shape = o.anneal == "linear" and straight or half_cosine
    for i, phase in ipairs(one_cycle_phases(o)) do
      local last, from, to, direction = table.unpack(phase)
      if step <= last or last >= o.steps - 1 then
        local part = (step - first) / (last - first)
        local momentum = high
        if direction == 1 then momentum = shape(high, low, part) end
        if direction == -1 then momentum = shape(low, high, part) end
        return shape(from, to, part), o.cycle_momentum and momentum or nil, i
      end
      first = last
    end
  end,
}

-- Between base_lr and max_lr and back; "triangular2" halves each next cycle, "exp_range" decays by
-- gamma.
curves.Cyclic = {
  options = {
    { "base_lr" }, { "max_lr" }, { "up", 2000 }, { "down" }, { "mode", "triangular" },
    { "gamma", 1.0 },
  },
  required = { "base_lr", "max_lr" },
  rate = function(o, step)
    local length = o.up + (o.down or o.up)
    local cycle, place = step // length, step % length
    local part = place <= o.up and place / o.up or 1 - (place - o.up) / (length - o.up)
    local scale = 1
    if o.mode == "triangular2" then scale = 0.5 ^ cycle end
    if o.mode == "exp_range" then scale = o.gamma ^ step end
    return o.base_lr + (o.max_lr - o.base_lr) * part * scale
  end,
}

-- A function of the step that gives a factor of the base rate.
curves.Lambda = {
  options = { { "factor" } }, required = { "factor" },
  rate = function(o, step, base) return base * o.factor(step) end,
}

-- nanoGPT's: linear warmup that starts above zero, a half cosine to min_lr, and there it stays.
curves.WarmupCosine = {
  options = { { "warmup" }, { "steps" }, { "min_lr", 0.0 } },
  required = { "warmup", "steps" }, length = steps,
  rate = function(o, step, base)
    if step < o.warmup then return base * (step + 1) / (o.warmup + 1) end
    local part = math.min(1, (step - o.warmup) / math.max(o.steps - o.warmup, 1))
    return half_cosine(base, o.min_lr, part)
  end,
}

-- Warmup, a stable stretch, and a linear decay to min_lr.
curves.WarmupStableDecay = {
  options = { { "warmup" }, { "stable" }, { "decay" }, { "min_lr", 0.0 } },
  required = { "warmup", "stable", "decay" },
  length = function(o) return o.warmup + o.stable + o.decay end,
  rate = function(o, step, base)
    if step < o.warmup then return base * (step + 1) / (o.warmup + 1) end
    local part = math.min(1, math.max(0, step - o.warmup - o.stable) / math.max(o.decay, 1))
    return base + (o.min_lr - base) * part
  end,
}

return curves
