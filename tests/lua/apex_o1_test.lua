-- O1 of the Apex spelling: casts around ops as Apex's lists say, from initialize on.
local t = require "support.test"
local rille = require "rille"
local trained = require "support.apex_fit"
local amp, nn, optim = rille.amp, rille.nn, rille.optim

local function single(level)
  local model = nn.Linear(1, 1, { bias = false })
  rille.no_grad(function() model.weight:fill_(1.0) end)
  local opt = optim.SGD(model:parameters(), { lr = 0.5 })
  return amp.initialize(model, opt, { opt_level = level, verbosity = 0 })
end

t.test("the properties of O1", function()
  local p = require "rille.apex.properties" { opt_level = "O1" }
  t.eq({ p.cast_model_type, p.patch_functions, p.keep_batchnorm_fp32, p.master_weights,
    p.loss_scale }, { nil, true, nil, nil, "dynamic" })
end)

t.test("O1 casts around ops: its own lists", function()
  local model, opt = single "O1"
  local x = rille.ones(2, 2)
  t.eq({ x:matmul(x).dtype, rille.gelu(x:half()).dtype, rille.softmax(x:half(), -1).dtype,
    (x:half() + x).dtype, rille.relu(x:half()).dtype, x:half():var(1).dtype },
    { "f16", "f32", "f32", "f32", "f16", "f32" })
  t.eq(model(x[{ {}, { 1, 1 } }]).dtype, "f16")
  local loss = model(rille.ones(1, 1)):sum() / 2         -- f16 holds 2^16 / 2, not 2^16
  amp.scale_loss(loss, opt, function(scaled) scaled:backward() end)
  t.eq({ model.weight.grad.dtype, model.weight.grad:item() }, { "f32", 0.5 })
  opt:step()
  t.eq(model.weight:item(), 0.75)
  amp.initialize(nn.ReLU(), { opt_level = "O0", verbosity = 0 })
  t.eq(x:matmul(x).dtype, "f32")
end)

t.test("every op of the O1 lists is one", function()
  local known = {}
  for _, op in ipairs(rille.ops()) do known[op.name] = true end
  for name in pairs(require "rille.apex.lists"()) do t.ok(known[name], name) end
end)

t.test("registered functions are cast around under O1", function()
  local mine = {
    half = function(x) return x.dtype end, float = function(x) return x.dtype end,
    both = function(x, y) return x.dtype .. " " .. y[1].dtype end,
  }
  local plain = mine.half
  amp.register_half_function(mine, "half")
  amp.register_float_function(mine, "float")
  amp.register_promote_function(mine, "both")
  local x, h = rille.ones(2), rille.ones(2):half()
  t.eq(mine.half(x), "f32")
  single "O1"
  t.eq({ mine.half(x), mine.float(h), mine.both(h, { x }), mine.both(h, { h }) },
    { "f16", "f32", "f32 f32", "f16 f16" })
  single "O2"
  t.ok(rawequal(mine.half, plain))
  t.error_like(function() amp.register_half_function(mine, "none") end,
    { code = "E_ARG", message = "no function 'none'" })
end)

t.test("O1 learns what O0 learns", function()
  local base = trained "O0"
  t.ok(base < 0.02, "O0 learns")
  t.near(trained "O1", base, 2e-3)
end)

amp.initialize(nn.ReLU(), { enabled = false })            -- no casts for who comes after
