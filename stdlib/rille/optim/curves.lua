-- Learning rates as pure functions: each curve has a text, options with defaults, `rate(options,
-- step, base)` for steps from 0, and `length(options)`, the steps after which it has come to its
-- end (nil: never). Values are those of the PyTorch scheduler of the same name.
local fail = require "rille.fail"

local curves = {}

-- An option that must be given, of `least` or more.
local function needed(name, kind, doc, least)
  return { name, type = kind, doc = doc, min = least, required = true }
end

local floor = { "min_lr", 0.0, min = 0, doc = "the lowest rate" }
local decayed = { "gamma", 0.1, min = 0, doc = "the factor" }
local warmup = needed("warmup", "number", "steps of rising at the start", 0)

local function all_steps(least)
  return needed("steps", "number", "how many steps it takes", least)
end

local function duration(least)
  return { "steps", 5, min = least, doc = "how many steps it takes" }
end

local function steps(o) return o.steps end

local function straight(from, to, part)
  return from + (to - from) * part
end

local function half_cosine(from, to, part)
  return to + (from - to) * (1 + math.cos(math.pi * part)) / 2
end

curves.Step = {
  doc = "The rate times gamma every `size` steps.",
  options = {
    { "size", type = "number", above = 0, required = true, doc = "steps between two changes" },
    decayed,
  },
  rate = function(o, step, base) return base * o.gamma ^ (step // o.size) end,
}

curves.MultiStep = {
  doc = "The rate times gamma at each milestone.",
  options = { needed("milestones", "number[]", "the steps where it changes"), decayed },
  check = function(o)
    for i, milestone in ipairs(o.milestones) do
      if type(milestone) ~= "number" then
        fail.type("MultiStep", "milestones[" .. i .. "]", "a number", milestone)
      end
    end
  end,
  rate = function(o, step, base)
    local passed = 0
    for _, milestone in ipairs(o.milestones) do
      if step >= milestone then passed = passed + 1 end
    end
    return base * o.gamma ^ passed
  end,
}

curves.Constant = {
  doc = "A part of the rate for some steps, then all of it.",
  options = { { "factor", 1 / 3, min = 0, doc = "the part" }, duration(0) }, length = steps,
  rate = function(o, step, base) return step < o.steps and base * o.factor or base end,
}

curves.Linear = {
  doc = "From one factor of the rate to another in a straight line.",
  options = {
    { "start", 1 / 3, min = 0, doc = "the first factor" },
    { "stop", 1.0, min = 0, doc = "the last factor" },
    duration(1),
  },
  length = steps,
  rate = function(o, step, base)
    return base * (o.start + (o.stop - o.start) * math.min(step, o.steps) / o.steps)
  end,
}

-- Starts one step above zero unless `start` says otherwise: lr / (n + 1), 2 lr / (n + 1), ... lr.
curves.LinearWarmup = {
  doc = "Up to the rate in a straight line.",
  options = {
    all_steps(0),
    { "start", type = "number", min = 0, doc = "the first factor; 1 / (steps + 1) without" },
  },
  length = steps,
  rate = function(o, step, base)
    local start = o.start or 1 / (o.steps + 1)
    return base * (start + (1 - start) * math.min(step, o.steps) / math.max(o.steps, 1))
  end,
}

curves.Exponential = {
  doc = "The rate times gamma at every step.",
  options = { needed("gamma", "number", "the factor", 0) },
  rate = function(o, step, base) return base * o.gamma ^ step end,
}

curves.Polynomial = {
  doc = "Down to zero as a power of what is left.",
  options = { duration(1), { "power", 1.0, min = 0, doc = "the power" } }, length = steps,
  rate = function(o, step, base)
    return base * (1 - math.min(step, o.steps) / o.steps) ^ o.power
  end,
}

-- Stays at min_lr after its steps; { periodic = true } rises again.
curves.Cosine = {
  doc = "Down to min_lr along half a cosine.",
  options = { all_steps(1), floor, { "periodic", false, doc = "rises again after its steps" } },
  length = function(o) return not o.periodic and o.steps or nil end,
  rate = function(o, step, base)
    if not o.periodic then step = math.min(step, o.steps) end
    return half_cosine(base, o.min_lr, step / o.steps)
  end,
}

curves.CosineRestarts = {
  doc = "Half cosines down to min_lr, one after another.",
  options = {
    needed("steps", "number", "of the first one", 1),
    { "mult", 1, min = 1, doc = "how many times as long the next one is" }, floor,
  },
  rate = function(o, step, base)
    local length = o.steps
    if o.mult == 1 then step = step % length end
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
  doc = "Up to max_lr and down to almost nothing, momentum the other way.",
  options = {
    needed("max_lr", "number", "the highest rate", 0), all_steps(1),
    { "pct_start", 0.3, min = 0, max = 1, doc = "the part of the steps that goes up" },
    { "anneal", "cos", type = '"cos"|"linear"', doc = "the shape" },
    { "div", 25.0, above = 0, doc = "max_lr by the first rate" },
    { "final_div", 1e4, above = 0, doc = "the first rate by the last" },
    { "three_phase", false, doc = "down to the first rate, then on" },
    { "cycle_momentum", true, doc = "whether momentum moves, too" },
    { "base_momentum", 0.85, min = 0, below = 1, doc = "the lowest" },
    { "max_momentum", 0.95, min = 0, below = 1, doc = "the highest" },
  },
  length = function(o) return o.steps - 1 end,
  rate = function(o, step)
    local first, high, low = 0, o.max_momentum, o.base_momentum
    step = math.min(step, o.steps - 1)
    local shape = o.anneal == "linear" and straight or half_cosine
    for i, phase in ipairs(one_cycle_phases(o)) do
      local last, from, to, direction = table.unpack(phase)
      if step <= last or last >= o.steps - 1 then
        local part = last > first and (step - first) / (last - first) or 1
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
  doc = "Between base_lr and max_lr and back, again and again.",
  options = {
    needed("base_lr", "number", "the lowest rate", 0),
    needed("max_lr", "number", "the highest rate", 0),
    { "up", 2000, above = 0, doc = "steps up" },
    { "down", type = "number", min = 0, doc = "steps down; as many as up without" },
    { "mode", "triangular", type = '"triangular"|"triangular2"|"exp_range"',
      doc = "whether the height stays, halves each cycle or decays by gamma" },
    { "gamma", 1.0, min = 0, doc = "of exp_range" },
  },
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
  doc = "The rate times a function of the step.",
  options = { needed("factor", "fun(step: integer): number", "the function") },
  rate = function(o, step, base)
    local factor = o.factor(step)
    if type(factor) ~= "number" then fail.type("Lambda", "factor(step)", "a number", factor) end
    return base * factor
  end,
}

-- nanoGPT's: linear warmup that starts above zero, a half cosine to min_lr, and there it stays.
curves.WarmupCosine = {
  doc = "Up in a straight line, then down to min_lr along half a cosine.",
  options = { warmup, needed("steps", "number", "where min_lr is reached", 1), floor },
  length = steps,
  rate = function(o, step, base)
    if step < o.warmup then return base * (step + 1) / (o.warmup + 1) end
    local part = math.min(1, (step - o.warmup) / math.max(o.steps - o.warmup, 1))
    return half_cosine(base, o.min_lr, part)
  end,
}

-- Warmup, a stable stretch, and a linear decay to min_lr.
curves.WarmupStableDecay = {
  doc = "Up, level, and down to min_lr in straight lines.",
  options = {
    warmup, needed("stable", "number", "level steps", 0),
    needed("decay", "number", "steps down", 0), floor,
  },
  length = function(o) return o.warmup + o.stable + o.decay end,
  rate = function(o, step, base)
    if step < o.warmup then return base * (step + 1) / (o.warmup + 1) end
    local part = math.min(1, math.max(0, step - o.warmup - o.stable) / math.max(o.decay, 1))
    return base + (o.min_lr - base) * part
  end,
}

return curves
