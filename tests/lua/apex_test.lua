-- The Apex spelling: properties of the opt levels, scaling of losses, f32 copies, casts. What is
-- expected are Apex's rules (its amp folder before its removal), and exact arithmetic: scales are
-- powers of two, so scaled gradients divide without rounding.
local t = require "support.test"
local rille = require "rille"
local trained = require "support.apex_fit"
local amp, nn, optim = rille.amp, rille.nn, rille.optim

local function quiet(level, options)
  local o = { opt_level = level, verbosity = 0 }
  for key, value in pairs(options or {}) do o[key] = value end
  return o
end

-- One weight of value 1 and its optimizer.
local function single(level, options, kind, settings)
  local model = nn.Linear(1, 1, { bias = false })
  rille.no_grad(function() model.weight:fill_(1.0) end)
  local opt = (kind or optim.SGD)(model:parameters(), settings or { lr = 0.5 })
  return amp.initialize(model, opt, quiet(level, options))
end

-- The same with a dynamic scale and nothing else of the levels.
local function dynamic(options, kind, settings)
  local o = { loss_scale = "dynamic" }
  for key, value in pairs(options or {}) do o[key] = value end
  return single("O0", o, kind, settings)
end

local function grad_of(model)
  return model.weight.grad and model.weight.grad:item()
end

-- backward of `factor` times the weight, through scale_loss.
local function pass(model, opt, factor, options)
  local scaled <close> = amp.scale_loss(model(rille.ones(1, 1) * factor):sum(), opt, options)
  scaled:backward()
end

local function scale_of(loss_id)
  return amp.state_dict()["loss_scaler" .. (loss_id or 0)].loss_scale
end

-- What a call prints.
local function printed(f)
  local lines, before = {}, print
  local _ <close> = setmetatable({}, { __close = function() _G.print = before end })
  _G.print = function(text) lines[#lines + 1] = text end
  f()
  return lines
end

t.test("initialize prints the properties of its level", function()
  local expected = {
    O0 = { "f32", "false", "nil", "false", "1.0" },
    O2 = { "f16", "false", "true", "true", "dynamic" },
    O3 = { "f16", "false", "false", "false", "1.0" },
  }
  local names = { "cast_model_type", "patch_functions", "keep_batchnorm_fp32", "master_weights",
    "loss_scale" }
  for level, values in pairs(expected) do
    local lines = { "opt level " .. level }
    for i, name in ipairs(names) do lines[i + 1] = ("  %-20s %s"):format(name, values[i]) end
    t.eq(printed(function() amp.initialize(nn.ReLU(), { opt_level = level }) end), lines)
  end
  t.eq(printed(function() amp.initialize(nn.ReLU(), { opt_level = "O2", verbosity = 0 }) end), {})
end)

t.test("options stand above their level", function()
  local read = require "rille.apex.properties"
  local p = read(quiet("O2", { keep_batchnorm_fp32 = "False", loss_scale = "128.0",
    master_weights = false, cast_model_type = "bfloat16" }))
  t.eq({ p.keep_batchnorm_fp32, p.loss_scale, p.master_weights, p.cast_model_type },
    { false, 128.0, false, "bf16" })
  t.eq(read(quiet("O3", { keep_batchnorm_fp32 = "True" })).keep_batchnorm_fp32, true)
  t.eq(read(quiet("O3", { loss_scale = "dynamic" })).loss_scale, "dynamic")
  t.eq(math.type(read(quiet("O0", { loss_scale = 64 })).loss_scale), "float")
end)

t.test("options that make no sense are refused", function()
  local function refused(level, options, wanted)
    t.error_like(function() amp.initialize(nn.Linear(1, 1), quiet(level, options)) end, wanted)
  end
  refused("O1", { cast_model_type = "f16" }, { code = "E_OPTION", message = "cast_model_type" })
  refused("O1", { keep_batchnorm_fp32 = true }, { code = "E_OPTION", message = "keep_batchnorm" })
  refused("O1", { master_weights = true }, { code = "E_OPTION", message = "master_weights" })
  refused("O2", { patch_functions = true }, { code = "E_OPTION", message = "what O1 stands for" })
  refused("O2", { keep_batchnorm_fp32 = "yes" }, { code = "E_ARG", message = "'True' or 'False'" })
  refused("O2", { loss_scale = "big" }, { code = "E_ARG", message = "'loss_scale' must be" })
  refused("O2", { loss_scale = -1 }, { code = "E_ARG", message = "'loss_scale' must be" })
  refused("O2", { cast_model_type = "i32" }, { code = "E_DTYPE", message = "f32, f16 or bf16" })
  refused("02", {}, { code = "E_ARG", hint = "letter O" })
  refused("O1", { levl = 1 }, { code = "E_OPTION" })
  refused("O1", { num_losses = 0 }, { code = "E_ARG" })
end)

t.test("one in, one out; a list in, a list out", function()
  local a, b = nn.Linear(2, 2), nn.Linear(2, 2)
  local opt = optim.SGD(a:parameters(), { lr = 0.1 })
  t.ok(rawequal(amp.initialize(a, quiet "O0"), a))
  t.eq(select("#", amp.initialize(a, quiet "O0")), 1)
  local models, opts = amp.initialize({ a, b }, { opt }, quiet "O0")
  t.ok(rawequal(models[2], b) and rawequal(opts[1], opt))
  local model, list = amp.initialize(a, { opt }, quiet "O0")
  t.ok(rawequal(model, a) and rawequal(list[1], opt))
  t.error_like(function() amp.initialize({ a, 3 }, opt) end,
    { code = "E_TYPE", message = "models[2]" })
  t.error_like(function() amp.initialize(a, { 3 }, quiet "O0") end,
    { code = "E_TYPE", message = "optimizers[1]" })
end)

t.test("enabled = false passes everything through", function()
  local model, opt = single("O2", { enabled = false })
  t.eq(model.weight.dtype, "f32")
  local loss = model(rille.ones(1, 1)):sum()
  local scaled <close> = amp.scale_loss(loss, opt)
  t.ok(rawequal(scaled.loss, loss))
  t.eq(amp.state_dict(), {})
end)

t.test("inside of the scope gradients are scaled, after it they are not", function()
  local model, opt = single("O0", { loss_scale = "128.0" })
  do
    local scaled <close> = amp.scale_loss(model(rille.ones(1, 1) * 3):sum(), opt)
    t.eq(scaled.loss:item(), 3 * 128)
    scaled:backward()
    t.eq(grad_of(model), 3 * 128)
  end
  t.eq(grad_of(model), 3)
  opt:zero_grad()
  local result = amp.scale_loss(model(rille.ones(1, 1) * 5):sum(), opt, function(scaled)
    scaled:backward()
    return "done"
  end)
  t.eq({ result, grad_of(model) }, { "done", 5 })
end)

t.test("passes add up, unscaled each by its own scale", function()
  local model, opt = dynamic()
  pass(model, opt, 3)
  amp.load_state_dict { loss_scaler0 = { loss_scale = 8.0, unskipped = 0 } }
  pass(model, opt, 4)
  t.eq(grad_of(model), 7)
  opt:zero_grad()
  pass(model, opt, 3, { delay_unscale = true })
  t.eq(grad_of(model), 24)
  pass(model, opt, 4)
  t.eq(grad_of(model), 7)
end)

t.test("the dynamic scale: 2^16, halved by an overflow, doubled after 2000 clean passes", function()
  local model, opt = dynamic({}, nil, { lr = 0.0 })
  t.eq(amp.state_dict(), { loss_scaler0 = { loss_scale = 65536.0, unskipped = 0 } })
  pass(model, opt, 1)
  t.eq(amp.state_dict().loss_scaler0.unskipped, 1)
  pass(model, opt, math.huge)
  t.eq(amp.state_dict(), { loss_scaler0 = { loss_scale = 32768.0, unskipped = 0 } })
  for _ = 1, 1999 do pass(model, opt, 1) end
  t.eq(amp.state_dict(), { loss_scaler0 = { loss_scale = 32768.0, unskipped = 1999 } })
  pass(model, opt, 1)
  t.eq(amp.state_dict(), { loss_scaler0 = { loss_scale = 65536.0, unskipped = 0 } })
  opt:zero_grad()
end)

t.test("the scale stays within its bounds", function()
  local model, opt = dynamic({ max_loss_scale = 2.0 ^ 10, min_loss_scale = 2.0 ^ 9 })
  t.eq(scale_of(), 2.0 ^ 10)
  for _ = 1, 3 do pass(model, opt, math.huge) end
  t.eq(scale_of(), 2.0 ^ 9)
  amp.load_state_dict { loss_scaler0 = { loss_scale = 2.0 ^ 10, unskipped = 1999 } }
  opt:zero_grad()
  pass(model, opt, 1)
  t.eq(scale_of(), 2.0 ^ 10)
end)

t.test("an overflow leaves out one step, and says so", function()
  local model, opt
  printed(function() model, opt = dynamic({ verbosity = 1 }) end)
  pass(model, opt, math.huge)
  t.eq(printed(function() opt:step() end), {
    "gradient overflow: step skipped, loss scaler 0 reduces its scale to 32768",
  })
  t.eq({ model.weight:item(), opt.step_count }, { 1.0, 0 })
  opt:zero_grad()
  pass(model, opt, 1)
  t.eq(printed(function() opt:step() end), {})
  t.eq({ model.weight:item(), opt.step_count }, { 0.5, 1 })
end)

t.test("a static scale skips nothing, a delayed check changes nothing", function()
  local model, opt = dynamic({ loss_scale = 8.0 })
  pass(model, opt, math.huge)
  opt:step()
  t.eq(opt.step_count, 1)
  t.eq(amp.state_dict().loss_scaler0, { loss_scale = 8.0, unskipped = 1 })
  model, opt = dynamic()
  pass(model, opt, math.huge, { delay_overflow_check = true })
  t.eq(scale_of(), 65536.0)
  opt:zero_grad()
end)

t.test("each loss has its scaler; one overflow stops every optimizer that was listed", function()
  local model, opt = dynamic({ num_losses = 2 })
  local other = optim.SGD(nn.Linear(1, 1):parameters(), { lr = 0.1 })
  pass(model, opt, 1, { loss_id = 0 })
  pass(model, opt, math.huge, { loss_id = 1 })
  t.eq({ scale_of(0), scale_of(1) }, { 65536.0, 32768.0 })
  opt:step()
  t.eq(opt.step_count, 0)
  t.error_like(function() pass(model, opt, 1, { loss_id = 2 }) end,
    { code = "E_ARG", message = "there is no loss 2: num_losses made 2" })
  t.error_like(function() amp.scale_loss(rille.zeros {}, other) end,
    { code = "E_APEX_NOT_INIT", message = "the optimizer was not given" })
  local a, b = nn.Linear(1, 1, { bias = false }), nn.Linear(1, 1, { bias = false })
  local first, second = optim.SGD(a:parameters(), { lr = 1 }), optim.SGD(b:parameters(), { lr = 1 })
  amp.initialize({ a, b }, { first, second }, quiet("O0", { loss_scale = "dynamic" }))
  do
    local loss = a(rille.ones(1, 1)):sum() + b(rille.ones(1, 1) * math.huge):sum()
    local scaled <close> = amp.scale_loss(loss, { first, second })
    scaled:backward()
  end
  first:step()
  second:step()
  t.eq({ first.step_count, second.step_count, scale_of() }, { 0, 0, 32768.0 })
end)

t.test("a step before the scope ends is an error that names its line", function()
  local model, opt = dynamic()
  t.error_like(function()
    local scaled <close> = amp.scale_loss(model(rille.ones(1, 1)):sum(), opt)
    scaled:backward()
    opt:step()
  end, { code = "E_STATE", message = "apex_test.lua:" })
  opt:zero_grad()
  pass(model, opt, 1)
  opt:step()
  t.eq(opt.step_count, 1)
end)

t.test("an error in the scope leaves the scale alone", function()
  local model, opt = dynamic()
  t.error_like(function()
    local scaled <close> = amp.scale_loss(model(rille.ones(1, 1) * math.huge):sum(), opt)
    scaled:backward()
    error "mine"
  end, "mine")
  t.eq(scale_of(), 65536.0)
  opt:zero_grad()
end)

t.test("O2: the f32 copy keeps what f16 would lose", function()
  local model, opt = single("O2", { loss_scale = 128 }, nil, { lr = 1e-4 })
  t.eq(model.weight.dtype, "f16")
  for step = 1, 6 do
    opt:zero_grad()
    pass(model, opt, -1)
    opt:step()
    local master = amp.master_params(opt)[1]
    t.eq(master.dtype, "f32")
    t.near(master:item(), 1 + 1e-4 * step, 1e-7)
    t.eq(model.weight:item(), master:to("f16"):item())
  end
  t.eq(model.weight:item(), 1 + 2.0 ^ -10)               -- six times nothing would be 1
  local plain, own = single("O3", {}, nil, { lr = 1e-4 })
  for _ = 1, 6 do
    own:zero_grad()
    pass(plain, own, -1)
    own:step()
  end
  t.eq(plain.weight:item(), 1.0)
end)

t.test("O2: small gradients survive in the f32 copies' gradients", function()
  local model, opt = single("O2", { loss_scale = 2.0 ^ 12 })
  for _ = 1, 2 do
    amp.scale_loss(model(rille.ones(1, 1)):sum() * 2.0 ^ -30, opt, function(scaled)
      scaled:backward()
    end)
  end
  local grad = amp.master_params(opt)[1].grad
  t.eq({ grad.dtype, grad:item() }, { "f32", 2.0 ^ -29 })
end)

t.test("O2: clipping the f32 copies clips the step", function()
  local model, opt = single("O2", { loss_scale = 128 })
  pass(model, opt, 4)
  t.eq(nn.clip_grad_norm_(amp.master_params(opt), 1.0):item(), 4.0)
  opt:step()
  t.near(amp.master_params(opt)[1]:item(), 0.5, 1e-6)
  t.eq(amp.master_params(opt)[1].grad:item(), model.weight.grad:item())
end)

t.test("O2: an overflow clears the gradients of f32 copies", function()
  local model, opt = single "O2"
  pass(model, opt, math.huge)
  opt:step()
  t.eq({ amp.master_params(opt)[1].grad, model.weight.grad, opt.step_count }, { nil, nil, 0 })
end)

t.test("state from before the cast goes on in f32", function()
  local model = nn.Linear(1, 1, { bias = false })
  local opt = optim.SGD(model:parameters(), { lr = 0.5, momentum = 0.5 })
  model(rille.ones(1, 1)):sum():backward()
  opt:step()
  amp.initialize(model, opt, quiet("O2", { loss_scale = 128 }))
  local kept = opt.state[model.weight]
  t.eq({ kept.momentum_buffer.dtype, kept.momentum_buffer:item(), kept.master.dtype },
    { "f32", 1.0, "f32" })
  opt:zero_grad()
  pass(model, opt, 1)
  opt:step()
  t.eq(kept.momentum_buffer:item(), 1.5)
end)

t.test("forward casts what comes in, also in tables and objects, and what goes out", function()
  local Probe = nn.module "Probe"
  local seen
  function Probe:init() self.weight = nn.Parameter(rille.ones(1)) end
  function Probe:forward(x, options)
    seen = {
      x.dtype, options.mask.dtype, options.list[1].dtype, options.custom.told, options.ids.dtype,
    }
    return x, { y = x * 2 }, "text"
  end
  local Batch = {}
  Batch.__index = Batch
  function Batch.to(_, dtype) return { told = dtype } end
  local model = amp.initialize(Probe(), quiet "O2")
  local given = {
    mask = rille.ones(1), list = { rille.zeros(1, { dtype = "f64" }) },
    custom = setmetatable({}, Batch), ids = rille.tensor { 1 },
  }
  local x, rest, text = model(rille.ones(1), given)
  t.eq(seen, { "f16", "f16", "f16", "f16", "i64" })
  t.eq({ x.dtype, rest.y.dtype, text }, { "f32", "f32", "text" })
  t.eq(given.mask.dtype, "f32")
  model = amp.initialize(Probe(), quiet("O3", { cast_model_outputs = "f16" }))
  t.eq(model(rille.ones(1), given).dtype, "f16")
end)

t.test("O2 leaves batch norms f32, O3 doesn't; state_dict gives f32", function()
  local function net() return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU()) end
  local model = amp.initialize(net(), quiet "O2")
  t.eq({ model[1].weight.dtype, model[2].weight.dtype, model[2].running_mean.dtype },
    { "f16", "f32", "f32" })
  t.eq(model(rille.randn(8, 4)).dtype, "f32")
  local saved = model:state_dict()
  t.eq({ saved["1.weight"].dtype, saved["2.num_batches_tracked"].dtype }, { "f32", "i64" })
  t.eq(amp.initialize(net(), quiet "O3")[2].weight.dtype, "f16")
end)

t.test("what is loaded into the model reaches the f32 copies", function()
  local model, opt = single("O2", { loss_scale = 128 })
  pass(model, opt, 1)
  opt:step()
  model:load_state_dict { weight = rille.full({ 1, 1 }, 3.0) }
  t.eq(amp.master_params(opt)[1]:item(), 3.0)
end)

t.test("state_dict and load_state_dict", function()
  dynamic({ num_losses = 2 })
  local dict = { loss_scaler0 = { loss_scale = 4.0, unskipped = 7 },
    loss_scaler1 = { loss_scale = 2.0, unskipped = 0 } }
  amp.load_state_dict(dict)
  t.eq(amp.state_dict(), dict)
  amp.load_state_dict { loss_scaler0 = { loss_scale = 16.0, unskipped = 1 } }
  t.eq({ scale_of(0), scale_of(1) }, { 16.0, 2.0 })
  t.error_like(function() amp.load_state_dict { scaler = {} } end,
    { code = "E_STATE", message = "unexpected names: scaler" })
  t.error_like(function() amp.load_state_dict { loss_scaler0 = { loss_scale = 0 / 0 } } end,
    { code = "E_STATE", message = "loss_scaler0" })
end)

t.test("a closure is refused where gradients are scaled for f32 copies", function()
  local model, opt = single "O2"
  t.error_like(function() opt:step(function() return model(rille.ones(1, 1)):sum() end) end,
    { code = "E_OPTION", message = "closure" })
end)

t.test("levels that cast the model learn the same", function()
  local base = trained "O0"
  t.ok(base < 0.02, "O0 learns")
  t.near(trained "O2", base, 2e-3)
  t.near(trained "O3", base, 1e-2)
end)

t.test("Apex's names", function()
  local apex = rille.apex
  t.ok(apex.available())
  t.ok(rawequal(apex.amp.initialize, amp.initialize))
  local params = nn.Linear(2, 2):parameters()
  t.eq({ apex.optimizers.FusedAdam(params).name, apex.optimizers.FusedSGD(params).name,
    apex.optimizers.FusedAdam(params, { adam_w_mode = false }).name }, { "AdamW", "SGD", "Adam" })
  t.eq(apex.optimizers.FusedAdam(params).groups[1].weight_decay, 0.0)
  t.error_like(function() apex.optimizers.FusedAdam(params, { amsgrad = true }) end,
    { code = "E_OPTION", message = "'amsgrad' can only be false here" })
  local norm = apex.normalization.FusedLayerNorm({ 2, 3 }, { elementwise_affine = false })
  t.eq(norm(rille.randn(4, 2, 3)):shape(), { 4, 2, 3 })
  t.eq(norm.weight, nil)
end)

amp.initialize(nn.ReLU(), { enabled = false })            -- no casts for who comes after
