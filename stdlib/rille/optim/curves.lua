-- Learning rates as pure functions: each curve has a text, options with defaults, `rate(options,
-- step, base)` for steps from 0, and `length(options)`, the steps after which it has come to its
-- end (nil: never). Values are those of the PyTorch scheduler of the same name; the engine has the
-- formulas (runtime/optim/curves.h), which C++ hosts use, too.
local native = require "rille.native"
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

curves.Step = {
  doc = "The rate times gamma every `size` steps.",
  options = {
    { "size", type = "number", above = 0, required = true, doc = "steps between two changes" },
    decayed,
  },
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
}

curves.Constant = {
  doc = "A part of the rate for some steps, then all of it.",
  options = { { "factor", 1 / 3, min = 0, doc = "the part" }, duration(0) },
}

curves.Linear = {
  doc = "From one factor of the rate to another in a straight line.",
  options = {
    { "start", 1 / 3, min = 0, doc = "the first factor" },
    { "stop", 1.0, min = 0, doc = "the last factor" },
    duration(1),
  },
}

-- Starts one step above zero unless `start` says otherwise: lr / (n + 1), 2 lr / (n + 1), ... lr.
curves.LinearWarmup = {
  doc = "Up to the rate in a straight line.",
  options = {
    all_steps(0),
    { "start", type = "number", min = 0, doc = "the first factor; 1 / (steps + 1) without" },
  },
}

curves.Exponential = {
  doc = "The rate times gamma at every step.",
  options = { needed("gamma", "number", "the factor", 0) },
}

curves.Polynomial = {
  doc = "Down to zero as a power of what is left.",
  options = { duration(1), { "power", 1.0, min = 0, doc = "the power" } },
}

-- Stays at min_lr after its steps; { periodic = true } rises again.
curves.Cosine = {
  doc = "Down to min_lr along half a cosine.",
  options = { all_steps(1), floor, { "periodic", false, doc = "rises again after its steps" } },
}

curves.CosineRestarts = {
  doc = "Half cosines down to min_lr, one after another.",
  options = {
    needed("steps", "number", "of the first one", 1),
    { "mult", 1, min = 1, doc = "how many times as long the next one is" }, floor,
  },
}

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
  length = function() return nil end,
}

-- nanoGPT's: linear warmup that starts above zero, a half cosine to min_lr, and there it stays.
curves.WarmupCosine = {
  doc = "Up in a straight line, then down to min_lr along half a cosine.",
  options = { warmup, needed("steps", "number", "where min_lr is reached", 1), floor },
}

-- Warmup, a stable stretch, and a linear decay to min_lr.
curves.WarmupStableDecay = {
  doc = "Up, level, and down to min_lr in straight lines.",
  options = {
    warmup, needed("stable", "number", "level steps", 0),
    needed("decay", "number", "steps down", 0), floor,
  },
}

local skip_aware = {
  "skip_aware", true, doc = "moves only where the optimizer has stepped",
}

for name, curve in pairs(curves) do
  curve.options[#curve.options + 1] = skip_aware
  curve.rate = curve.rate or function(o, step, base) return native.curve(name, o, step, base) end
  curve.length = curve.length or function(o) return native.curve_length(name, o) end
end

return curves
