-- amp.f8: Linear, delayed scaling, conversion of models, the setting allow_mm.
local t = require "support.test"
local rille = require "rille"
local nn, optim, amp = rille.nn, rille.optim, rille.amp

local function noise(seed, ...)
  return rille.randn(..., { generator = rille.generator(seed) })
end

-- What codes and scales stand for, in f64.
local function rounded(x, dtype)
  return amp.dequantize(amp.quantize(x:detach(), dtype)):to "f64"
end

local function near(got, want, tolerance, what)
  local scale = want:abs():amax():item()
  t.ok((got:to "f64" - want):abs():amax():item() <= tolerance * scale, what)
end

t.test("forward and gradients are products of the rounded factors", function()
  local fc = amp.f8.Linear(24, 10)
  local x = noise(1, { 3, 5, 24 }):requires_grad_()
  local y = fc(x)
  t.eq({ y.dtype, y:dim(), y:size(3) }, { "f32", 3, 10 })
  local x8, w8 = rounded(x:reshape(15, 24), "f8_e4m3"), rounded(fc.weight, "f8_e4m3")
  near(y:reshape(15, 10), x8:matmul(w8:t()) + fc.bias:to "f64", 1e-6, "y")
  local dy = noise(2, { 3, 5, 10 })
  y:backward(dy)
  local dy8 = rounded(dy:reshape(15, 10), "f8_e5m2")
  near(x.grad:reshape(15, 24), dy8:matmul(w8), 1e-6, "dx")
  near(fc.weight.grad, dy8:t():matmul(x8), 1e-6, "dweight")
  near(fc.bias.grad, dy:reshape(15, 10):sum(1):to "f64", 1e-6, "dbias")
  t.eq(fc.weight.grad.dtype, "f32")
end)

t.test("no bias, a vector, bf16, frozen weights, no rows", function()
  local fc = amp.f8.Linear(8, 4, { bias = false })
  t.eq(fc.bias, nil)
  t.eq(fc(noise(1, { 8 })):shape(), { 4 })
  t.eq(fc(rille.zeros(0, 8)):shape(), { 0, 4 })
  local x = noise(2, { 2, 8 }):to("bf16"):requires_grad_()
  fc:requires_grad_(false)
  local y = fc(x)
  t.eq(y.dtype, "bf16")
  y:sum():backward()
  t.eq({ x.grad.dtype, fc.weight.grad }, { "bf16", nil })
end)

t.test("under autocast results have the scope's dtype, gradients that of the masters", function()
  local fc, x = amp.f8.Linear(8, 4), noise(1, { 2, 8 })
  local y = amp.autocast({ device = "cpu", dtype = "bf16" }, function() return fc(x) end)
  t.eq(y.dtype, "bf16")
  y:sum():backward()
  t.eq({ fc.weight.grad.dtype, fc.bias.grad.dtype }, { "f32", "f32" })
end)

t.test("prints, and shares state dicts with nn.Linear", function()
  local plain, fc = nn.Linear(6, 3), amp.f8.Linear(6, 3)
  t.eq(tostring(fc), "f8.Linear(in=6, out=3, bias=true, scaling=current)")
  fc:load_state_dict(plain:state_dict())
  t.ok(fc.weight:eq(plain.weight):all():item())
  local late = amp.f8.Linear(6, 3, { scaling = "delayed", history = 4 })
  t.eq(late:state_dict()["scale_gradient.history"]:shape(), { 4 })
  t.ok(tostring(late):find("DelayedScaling(f8_e5m2, history=4, margin=0)", 1, true), tostring(late))
end)

t.test("delayed scaling takes the scale of the largest of the last calls", function()
  local scaling = amp.f8.DelayedScaling("f8_e4m3", { history = 3 })
  local function scale_of(amax)
    local _, scale = scaling(rille.tensor { amax, -1.0 })
    return scale:item() * 448
  end
  -- The first takes its own; then the past counts, a call later, and for three calls.
  t.near({ scale_of(2), scale_of(8), scale_of(4), scale_of(4), scale_of(4), scale_of(4) },
    { 2, 2, 8, 8, 8, 4 }, 1e-6)
  local q = scaling(rille.tensor { 100.0, 1 / 0, -1.0 })
  t.eq(q:to("f32"):tolist(), { 448, 0 / 0, -112 })
  t.eq(scaling.history:tolist(), { 0, 4, 4 })           -- what is not finite is not remembered
  local saved = scaling:state_dict()
  t.eq(saved.history:tolist(), { 0, 4, 4 })
  local other = amp.f8.DelayedScaling("f8_e4m3", { history = 3 })
  other:load_state_dict(saved)
  t.near(select(2, other(rille.ones(2))):item(), 4 / 448, 1e-6)
  other:eval()
  other(rille.tensor { 64.0 })
  t.eq(other.history:tolist(), { 1, 0, 4 })
  t.eq(select(2, amp.f8.DelayedScaling "f8_e5m2"(rille.zeros(2))):item(), 1)
  local wide = amp.f8.DelayedScaling("f8_e4m3", { margin = 1 })
  t.near(select(2, wide(rille.tensor { 3.0 })):item(), 6 / 448, 1e-6)
end)

t.test("delayed scaling trains: each role has a history of its own", function()
  local fc = amp.f8.Linear(8, 4, { scaling = "delayed" })
  fc(noise(1, { 2, 8 })):backward(rille.full({ 2, 4 }, 0.5))
  t.eq(fc.scale_gradient.history[1]:item(), 0.5)
  t.eq(fc.scale_weight.history[1]:item(), fc.weight:abs():amax():item())
  t.eq(fc(rille.zeros(0, 8)):shape(), { 0, 4 })
  t.eq(fc.scale_x.history[1]:item(), 0)
  fc(noise(1, { 2, 8 }))
  t.ok(fc.scale_x.history[1]:item() > 0 and fc.scale_x.history[2]:item() == 0)
end)

t.test("convert: layers stay the same objects with the same parameters", function()
  local model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.Linear(8, 2))
  local first, weight, names = model[1], model[1].weight, {}
  for name in pairs(model:state_dict()) do names[name] = true end
  t.eq(amp.f8.convert(model, { skip = { "4" } }), model)
  t.eq(model[1] == first and model[1].weight == weight, true)
  t.eq(tostring(model[1]), "f8.Linear(in=4, out=8, bias=true, scaling=current)")
  t.eq(tostring(model[4]), "Linear(in=8, out=2, bias=true)")
  for name in pairs(model:state_dict()) do t.ok(names[name], name) end
  local x = noise(1, { 3, 4 })
  local same = amp.f8.Linear(4, 8)
  same:load_state_dict(first:state_dict())
  t.ok(first(x):eq(same(x)):all():item())
  t.error_like(function() amp.f8.convert(model, { skip = { "5" } }) end,
    { code = "E_OPTION", message = "unknown module '5'" })
  t.error_like(function() amp.f8.convert(7) end, { code = "E_TYPE", message = "'model'" })
  amp.f8.convert(model, { scaling = "delayed" })        -- those that are converted stay as they are
  t.eq({ model[1].scaling, model[4].scaling }, { "current", "delayed" })
end)

t.test("a net with f8 layers learns as one with f32 layers does", function()
  local function final_loss(convert)
    rille.seed(5)
    local model = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
      nn.Linear(64, 1))
    if convert then convert(model) end
    local opt = optim.Adam(model:parameters(), { lr = 5e-3 })
    local x = noise(9, { 256, 2 })
    local y = (x:narrow(2, 1, 1) * 2):sin() + x:narrow(2, 2, 1):abs()
    local loss
    for _ = 1, 150 do
      loss = rille.mse_loss(model(x), y)
      opt:zero_grad()
      loss:backward()
      opt:step()
    end
    return loss:item()
  end
  local plain = final_loss()
  t.ok(plain < 0.02, plain)
  local now = final_loss(amp.f8.convert)
  -- Eight bits jump about near the end, differently with each set of instructions.
  t.ok(now < plain + 0.04, now)
  local late = final_loss(function(m) amp.f8.convert(m, { scaling = "delayed" }) end)
  t.ok(late < plain + 0.04, late)
end)

t.test("wrong calls", function()
  t.error_like(function() amp.f8.Linear(4, 2)(rille.ones(3, 5)) end,
    { code = "E_SHAPE", op = "f8.Linear", message = "needs [..., 4], got [3, 5]" })
  t.error_like(function() amp.f8.Linear(4, 2, { scaling = "late" }) end,
    { code = "E_TYPE", message = "'scaling' must be 'current' or 'delayed', got string 'late'" })
  t.error_like(function() amp.f8.Linear(4, 2, { biass = false }) end, { code = "E_OPTION" })
  t.error_like(function() amp.f8.Linear(4) end, { message = "'out' is missing" })
  t.error_like(function() amp.f8.alow_mm = true end, { message = "'alow_mm' can't be set" })
  t.error_like(function() return amp.f8.Linaer end, { message = "did you mean 'Linear'?" })
end)

t.test("allow_mm lets ops multiply narrow floats, each in f32", function()
  local a, b = noise(1, { 3, 4 }):to "f8_e4m3", noise(2, { 4, 2 }):to "f8_e4m3"
  t.eq(amp.f8.allow_mm, false)
  t.error_like(function() return a:matmul(b) end,
    { code = "E_F8_NEEDS_SCALED", op = "matmul", hint = "rille.scaled_mm" })
  amp.f8.allow_mm = true
  local _ <close> = setmetatable({}, { __close = function() amp.f8.allow_mm = false end })
  local wide = a:to("f32"):matmul(b:to "f32")
  t.eq(a:matmul(b).dtype, "f8_e4m3")
  t.ok(a:mm(b):to("f32"):eq(wide:to("f8_e4m3"):to "f32"):all():item())
  t.ok((a * a):to("f32"):eq((a:to "f32" * a:to "f32"):to("f8_e4m3"):to "f32"):all():item())
  t.error_like(function() return a:matmul(b:to "f8_e5m2") end, { code = "E_F8_PROMOTE" })
  t.error_like(function() amp.f8.allow_mm = 1 end, { code = "E_TYPE", message = "true or false" })
end)
