-- rille.log is two things: the logarithm of a tensor, and named numbers for the log.
local t = require "support.test"
local rille = require "rille"
local native = require "rille.native"
local runs = require "support.runs"

t.test("of a tensor it is the op", function()
  local x = rille.tensor({ 1.0, math.exp(2) }, { requires_grad = true })
  t.near(rille.log(x), { 0, 2 }, 1e-6)
  t.near(rille.log { x = x }, { 0, 2 }, 1e-6)
  t.near(x:log(), { 0, 2 }, 1e-6)
  rille.log(x):sum():backward()
  t.near(x.grad, { 1, math.exp(-2) }, 1e-6)
  t.error_like(function() rille.log() end, { op = "log", message = "missing argument 'x'" })
  t.error_like(function() rille.log {} end, { op = "log", code = "E_TYPE" })
  t.error_like(function() rille.log { 1, 2 } end, { op = "log", message = "'x' must be a tensor" })
  t.error_like(function() rille.log { x = x, base = 2 } end, { message = "unknown option 'base'" })
end)

t.test("named numbers in a script are one line", function()
  local said = runs.heard(function()
    rille.log { loss = 0.25, step = 3 }
    rille.log { norm = rille.tensor { 3.0, 4.0 }:norm(), x = 1 }
  end)
  t.eq(said, "loss 0.25  step 3\nnorm 5  x 1\n")
  t.error_like(function() rille.log { loss = "low" } end,
    { code = "E_TYPE", op = "log", message = "'loss' must be a number, got string 'low'" })
  t.error_like(function() rille.log { loss = rille.ones(2) } end, { code = "E_SHAPE" })
end)

t.test("in a recipe they go to its metrics", function()
  local out <close> = runs.folder()
  local calls = 0
  local recipe = rille.recipe {
    name = "logged", args = { steps = 3 },
    setup = function(self)
      self.model = rille.nn.Linear(2, 1)
      self.optimizer = rille.optim.SGD(self.model:parameters(), { lr = 0.1 })
    end,
    batches = function() return function() return { x = rille.ones(4, 2) } end end,
    loss = function(self, batch)
      calls = calls + 1
      rille.log { calls = calls, half = rille.full({}, calls / 2) }
      return rille.log(self.model(batch.x):square():mean() + 1)
    end,
    log = { every = 1 },
  }
  t.eq(runs.quietly(recipe, { "--out", out.path }), 0)
  local seen = {}
  for line in io.lines(out.path .. "/metrics.jsonl") do
    local values = native.json_decode(line)
    if values.calls then seen[values.step] = { values.calls, values.half } end
  end
  t.eq(seen, { { 1, 0.5 }, { 2, 1.0 }, { 3, 1.5 } })
end)
