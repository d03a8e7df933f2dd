-- --amp: what a declared recipe computes its loss in, and what becomes of its scaler.
local t = require "support.test"
local rille = require "rille"
local runs = require "support.runs"
local nn, optim = rille.nn, rille.optim
local folder, quietly = runs.folder, runs.quietly

-- A recipe that keeps the dtypes of its losses and of what its model gives.
local function recipe(seen, changes)
  local fields = {
    name = "mixed",
    args = { steps = 4 },
    setup = function(self)
      self.model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
      self.optimizer = optim.SGD(self.model:parameters(), { lr = 0.05 })
    end,
    batches = function()
      return function()
        local x = rille.randn(16, 4)
        return { x = x, y = x:sum(2, { keepdim = true }) / 8 }  -- within f16, times 2^16
      end
    end,
    loss = function(self, batch)
      local y = self.model(batch.x)
      seen[#seen + 1] = y.dtype
      return rille.mse_loss(y, batch.y)
    end,
    evaluate = { every = 4, batches = 1 }, clip = 1.0,
  }
  for name, value in pairs(changes or {}) do fields[name] = value end
  return rille.recipe(fields)
end

local function dtypes_with(changes, ...)
  local seen = {}
  local out <close> = folder()
  t.eq(quietly(recipe(seen, changes), { "--out", out.path, ... }), 0)
  return seen
end

t.test("the loss and the evaluation are computed in the dtype asked for", function()
  local four = { "bf16", "bf16", "bf16", "bf16", "bf16" }
  t.eq(dtypes_with({}, "--amp", "bf16"), four)
  t.eq(dtypes_with { amp = "bf16" }, four)
  t.eq(dtypes_with({ amp = "bf16" }, "--amp", "off"), { "f32", "f32", "f32", "f32", "f32" })
  t.eq(rille.amp.autocast.active(), false)
end)

t.test("another word is an error that lists the four", function()
  t.error_like(function() dtypes_with({}, "--amp", "fp8") end,
    { message = "must be one of off, bf16, f16, f8, got 'fp8'" })
  t.error_like(function() dtypes_with { amp = "fp8" } end,
    { message = "'amp' must be 'off', 'bf16', 'f16' or 'f8'" })
end)

t.test("a run can be resumed in the precision it began in", function()
  local seen = {}
  local out <close> = folder()
  quietly(recipe(seen), { "--out", out.path, "--amp", "bf16", "--steps", "2" })
  t.eq(quietly(recipe(seen), { "--out", out.path, "--amp", "bf16", "--resume" }), 0)
  t.error_like(function()
    quietly(recipe(seen), { "--out", out.path, "--resume", "--steps", "6" })
  end, "--amp was bf16, is nothing")
end)

t.test("f16 has a scaler, which checkpoints hold: a resumed run ends as a whole one", function()
  local seen = {}
  local whole <close> = folder()
  local parts <close> = folder()
  local function run(out, ...)
    t.eq(quietly(recipe(seen), { "--out", out.path, "--amp", "f16", ... }), 0)
  end
  local function objects(out)
    return rille.load(out.path .. "/checkpoints/step-4.safetensors").objects
  end
  run(whole)
  run(parts, "--steps", "2")
  run(parts, "--resume")
  t.eq(seen[1], "f16")
  local one, other = objects(whole), objects(parts)
  t.eq(other.grad_scaler, one.grad_scaler)
  t.ok(one.grad_scaler.scale > 0 and one.grad_scaler.scale <= 65536, one.grad_scaler.scale)
  t.eq(other.model["1.weight"], one.model["1.weight"])
end)

t.test("f8 multiplies in eight bits and gives bf16", function()
  local kinds = {}
  local seen = dtypes_with({ on = { step = function(self)
    kinds[#kinds + 1] = tostring(self.model)
  end } }, "--amp", "f8")
  t.eq(seen[1], "bf16")
  t.ok(kinds[1]:find "f8", kinds[1])
end)
