-- Losses and weights that are nan or infinite: what `on_nonfinite` makes of them.
local t = require "support.test"
local rille = require "rille"
local native = require "rille.native"
local runs = require "support.runs"
local nn, optim = rille.nn, rille.optim
local folder, quietly = runs.folder, runs.quietly

-- A recipe whose loss is multiplied by bad[step] at a step.
local function recipe(bad, changes)
  local fields = {
    name = "nonfinite", args = { steps = 12 },
    setup = function(self)
      self.model = nn.Linear(3, 1)
      self.optimizer = optim.SGD(self.model:parameters(), { lr = 0.1, momentum = 0.9 })
      self.schedule = optim.lr.Exponential(self.optimizer, { gamma = 0.9 })
      self.state = { calls = 0 }
    end,
    batches = function() return { rille.ones(2, 3), rille.ones(2, 3) * 2 } end,
    loss = function(self, x)
      self.state.calls = self.state.calls + 1
      return self.model(x):square():mean() * (bad[self.state.calls] or 1)
    end,
    save = { every = 2, keep = 3 }, log = { every = 1 },
  }
  for name, value in pairs(changes or {}) do fields[name] = value end
  return rille.recipe(fields)
end

local function saved(path, step)
  return rille.load(("%s/checkpoints/step-%d.safetensors"):format(path, step))
end

local function steps_of(path)
  return native.checkpoints(path .. "/checkpoints"):steps()
end

for name, value in pairs { nan = 0 / 0, inf = 1 / 0, ["-inf"] = -1 / 0 } do
  t.test("a loss that is " .. name .. " ends the run, and the good checkpoints stay", function()
    local out <close> = folder()
    local err = t.error_like(function() quietly(recipe { [6] = value }, { "--out", out.path }) end,
      { code = "E_NONFINITE", message = "the loss of step 6 is " })
    t.eq(err.facts, {
      ("the newest good checkpoint is '%s/checkpoints/step-4.safetensors'"):format(out.path),
    })
    t.eq(steps_of(out.path), { 4, 2 })
    t.eq(quietly(recipe {}, { "--out", out.path, "--resume" }), 0)
  end)
end

t.test("weights that a finite loss made nan replace no checkpoint", function()
  local function spoil(self, _, step)
    if step == 7 then rille.no_grad(function() self.model.weight:mul_(1 / 0) end) end
  end
  for _, policy in ipairs { "error", "skip" } do
    local out <close> = folder()
    t.error_like(function()
      quietly(recipe({}, { on = { step = spoil }, on_nonfinite = policy, save = { every = 1 } }),
        { "--out", out.path })
    end, { code = "E_NONFINITE", message = "the parameter 'weight' isn't finite after step 7" })
    t.eq(steps_of(out.path)[1], 6)
  end
end)

t.test("a buffer that holds nan ends the run, one with infinities does not", function()
  local function with(value)
    local fields = recipe({}).fields
    return recipe({}, {
      setup = function(self)
        fields.setup(self)
        self.model:buffer("mask", rille.full({ 2 }, value))
      end,
    })
  end
  local out <close> = folder()
  t.eq(quietly(with(-1 / 0), { "--out", out.path }), 0)
  t.error_like(function() quietly(with(0 / 0), { "--out", out.path, "--force" }) end,
    { message = "the buffer 'mask' holds nan after step 2" })
end)

-- Left out: as if the run had been without that batch, but for the place in the data.
t.test("skip leaves the step out, and says and counts it", function()
  local one <close> = folder()
  local other <close> = folder()
  local status, said = quietly(recipe({ [3] = 0 / 0, [5] = 1 / 0 }, { on_nonfinite = "skip" }),
    { "--out", one.path, "--steps", "6" })
  t.eq(status, 0)
  local _, count = said:gsub("warning: the loss of step %d is %S+; the step is left out", "")
  t.eq(count, 2)
  local a = saved(one.path, 6)
  t.eq({ a.skipped, a.skipped_in_a_row, a.objects.schedule.step }, { 2, 0, 4 })
  -- Steps 1, 2, 4, 6 took the batches 1, 2, 2, 2.
  local batches = { rille.ones(2, 3), rille.ones(2, 3) * 2, rille.ones(2, 3) * 2,
    rille.ones(2, 3) * 2 }
  quietly(recipe({}, { batches = function() return batches end }),
    { "--out", other.path, "--steps", "4" })
  t.eq(a.objects.model.weight, saved(other.path, 4).objects.model.weight)
  local last
  for line in io.lines(one.path .. "/metrics.jsonl") do last = native.json_decode(line) end
  t.eq(last.skipped, 2)
end)

t.test("ten steps left out in a row end the run, also over a resume", function()
  local bad = {}
  for i = 3, 12 do bad[i] = 0 / 0 end
  local out <close> = folder()
  local r = recipe(bad, { on_nonfinite = "skip" })
  t.eq(quietly(r, { "--out", out.path, "--steps", "8" }), 0)
  t.error_like(function() quietly(r, { "--out", out.path, "--resume", "--steps", "20" }) end,
    { code = "E_NONFINITE", message = "the loss of step 12 is " })
end)

t.test("a step of several batches is left out as a whole", function()
  local out <close> = folder()
  local r = recipe({ [4] = 0 / 0 }, { on_nonfinite = "skip", accumulate = 2 })
  quietly(r, { "--out", out.path, "--steps", "4" })
  t.eq(saved(out.path, 4).objects.schedule.step, 3)
end)

t.test("warn says so once and goes on", function()
  local out <close> = folder()
  local status, said = quietly(recipe({ [3] = 0 / 0 }, { on_nonfinite = "warn" }),
    { "--out", out.path })
  t.eq(status, 0)
  local _, count = said:gsub("warning: the loss of step %d+ is %S+; training goes on", "")
  t.eq(count, 1)
  t.ok(saved(out.path, 12).objects.model.weight:isnan():all():item())
end)
