-- amp.advise: what it chooses, by its stated rules, and that a model is left as it was.
local t = require "support.test"
local rille = require "rille"
local choose = require "rille.amp.choice"
local amp, nn = rille.amp, rille.nn

local function row(dtype, seconds, loss)
  return { dtype = dtype, seconds = seconds, loss = loss }
end

local function chosen(...)
  return (choose({ row("f32", 1.0, 2.0), ... }, 0.01))
end

t.test("the fastest dtype whose loss is near f32's", function()
  t.eq(chosen(row("bf16", 0.5, 2.01), row("f16", 0.9, 2.0)), "bf16")
  t.eq(chosen(row("bf16", 0.9, 2.01), row("f16", 0.5, 2.0)), "f16")
  t.eq(chosen(row("bf16", 0.5, 2.03), row("f16", 0.9, 2.0)), "f16")
  t.eq(chosen(row("bf16", 0.5, 2.03), row("f16", 0.5, 0 / 0)), "f32")
  t.eq(chosen(row("bf16", 0.98, 2.0), row("f16", 1.5, 2.0)), "f32")
end)

t.test("bf16 stands above an f16 that is hardly faster", function()
  t.eq(chosen(row("bf16", 0.50, 2.0), row("f16", 0.49, 2.0)), "bf16")
  t.eq(chosen(row("f16", 0.49, 2.0), row("bf16", 0.50, 2.0)), "bf16")
  t.eq(chosen(row("bf16", 0.50, 2.0), row("f16", 0.40, 2.0)), "f16")
end)

t.test("the reason says numbers", function()
  local rows = { row("f32", 1.0, 2.0), row("bf16", 0.5, 2.01), row("f16", 0.8, 1 / 0) }
  local dtype, reason = choose(rows, 0.01)
  t.eq({ dtype, reason }, { "bf16", "2.00 times as fast as f32, with a loss 0.5 % off" })
  t.eq({ rows[2].verdict, rows[3].verdict }, { "2.00 x, loss 0.5 % off", "its loss is inf" })
  local none = { row("f32", 1.0, 2.0), row("bf16", 1.0, 2.0), { dtype = "f16", missing = "no" } }
  dtype, reason = choose(none, 0.01)
  t.eq({ dtype, reason }, { "f32", "bf16: it is no faster: 1.00 x; f16: no" })
end)

t.test("a loss that leaves f16 keeps f16 out", function()
  local x = rille.full({ 4, 4 }, 300.0)
  local advice = amp.advise(function() return x:matmul(x):sum() end, { runs = 1 })
  t.eq({ #advice.rows, advice.rows[1].dtype, advice.rows[3].dtype }, { 3, "f32", "f16" })
  t.eq(advice.rows[1].loss, 300.0 * 300 * 4 * 16)
  t.eq(advice.rows[3].verdict, "its loss is inf")
  t.ok(advice.dtype ~= "f16")
  t.ok(tostring(advice):find("use " .. advice.dtype, 1, true))
end)

t.test("gradients, buffers and random numbers stay as they are", function()
  local model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))
  local x = rille.randn(8, 3)
  model(x):sum():backward()
  local grad, mean = model[1].weight.grad, model[2].running_mean:clone()
  local before, state = grad:tolist(), rille.get_rng_state()
  local losses = {}
  local advice = amp.advise(function()
    local loss = model(x):pow(2):mean()
    losses[#losses + 1] = loss.dtype
    return loss
  end, { model = model, runs = 2, dtypes = { "bf16" } })
  t.eq({ #losses, #advice.rows }, { 6, 2 })
  t.eq(model[1].weight.grad:tolist(), before)
  t.eq(model[2].running_mean, mean:tolist())
  t.eq(rille.get_rng_state(), state)
end)

t.test("what it can't do is said", function()
  t.error_like(function() amp.advise(3) end, { code = "E_TYPE" })
  t.error_like(function() amp.advise(function() end) end,
    { code = "E_TYPE", message = "what fn returns" })
  t.error_like(function() amp.advise(print, { model = 3 }) end, { code = "E_TYPE" })
  t.error_like(function() amp.advise(print, { runs = 0 }) end, { code = "E_ARG" })
end)
