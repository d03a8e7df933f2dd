-- What the workloads share: their flags, the measuring of one case, and the line it prints.
-- torch/measure.py is the twin; both follow the rule that README.md states.
local rille = require "rille"

local measure = {}

measure.args = rille.args {
  threads = 2,
  quick = { default = false, help = "a few repetitions: does it run at all?" },
  folder = { type = "path", default = ".", help = "for files that a workload writes" },
  case = { type = "string", default = "", help = "this one only" },
}
rille.threads(measure.args.threads)
rille.seed(0)

local name = arg[0]:match "([%w_]+)%.lua$"
local rule = measure.args.quick and { least = 3, seconds = 0.0, limit = 1.0, warm_up = 1 }
  or { least = 10, seconds = 0.5, limit = 5.0, warm_up = 3 }

-- The value below which the share q of the sorted list lies, between neighbours by proportion.
local function quantile(sorted, q)
  local place = 1 + q * (#sorted - 1)
  local low = math.floor(place)
  local high = math.min(low + 1, #sorted)
  return sorted[low] + (sorted[high] - sorted[low]) * (place - low)
end

--- Prints the figures of one case, in `unit`.
function measure.report(case, figures, unit)
  table.sort(figures)
  print(('{"peer": "rille", "workload": "%s", "case": "%s", "threads": %d, "unit": "%s", '
    .. '"median": %.6g, "p10": %.6g, "p90": %.6g, "n": %d}'):format(name, case,
    measure.args.threads, unit or "ms", quantile(figures, 0.5), quantile(figures, 0.1),
    quantile(figures, 0.9), #figures))
  io.stdout:flush()
end

--- Is this case to be measured?
function measure.wants(case)
  return measure.args.case == "" or measure.args.case == case
end

--- fn as it runs under bf16 autocast.
function measure.bf16(fn)
  return rille.amp.autocast.wrap({ dtype = "bf16" }, fn)
end

--- Times fn() until the rule is met; a call counts as `inner` repetitions of what it measures.
function measure.case(case, fn, inner)
  for _ = 1, rule.warm_up do fn() end
  local clock, figures = rille.clock, {}
  local start = clock()
  local now = start
  repeat
    local before = now
    fn()
    now = clock()
    figures[#figures + 1] = (now - before) * 1e3 / (inner or 1)
    local enough = #figures >= rule.least and now - start >= rule.seconds
  until enough or now - start >= rule.limit
  measure.report(case, figures)
end

--- Times the training step of a classifier: zero_grad, forward and cross-entropy (under `wrap`, if
--- there is one), backward, optimizer.
function measure.classifier(case, model, optimizer, x, y, wrap)
  local function loss_of() return rille.cross_entropy(model(x), y) end
  local forward = wrap and wrap(loss_of) or loss_of
  measure.case(case, function()
    optimizer:zero_grad()
    forward():backward()
    optimizer:step()
  end)
end

--- Times functions one after another, round by round, for differences that are smaller than drift.
function measure.in_turn(cases, functions)
  local figures = {}
  for i, fn in ipairs(functions) do
    figures[i] = {}
    for _ = 1, rule.warm_up do fn() end
  end
  local clock = rille.clock
  local start = clock()
  repeat
    for i, fn in ipairs(functions) do
      local before = clock()
      fn()
      figures[i][#figures[i] + 1] = (clock() - before) * 1e3
    end
  until #figures[1] >= rule.least and clock() - start >= #functions * rule.limit
  for i, case in ipairs(cases) do measure.report(case, figures[i]) end
end

--- The largest resident memory of this process so far, in MB (2^20 bytes).
function measure.peak_mb()
  local file <close> = assert(io.open "/proc/self/status")
  return tonumber(file:read("a"):match "VmHWM:%s*(%d+)") / 1024
end

return measure
