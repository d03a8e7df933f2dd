-- rille.amp.autocast: what scopes do to ops, how they nest and end, what is cast and what is kept.
local t = require "support.test"
local rille = require "rille"
local dtypes = require "support.autocast_dtypes"
local amp, nn, optim = rille.amp, rille.nn, rille.optim

local bf16 = { device = "cpu", dtype = "bf16" }

local function autocast(options, fn, ...)
  return amp.autocast(options, fn, ...)
end

-- ---- the table

local shapes = {
  a = { 3, 3 }, b = { 3, 3 }, c = { 3, 3 }, p = { 2, 3, 3 }, q = { 2, 3, 3 }, r = { 2, 3, 3 },
  u = { 3 }, v = { 3 }, h = { 3 }, g = { 3 }, f = { 3 }, k = { 2, 3, 3 }, w1 = { 1 }, p4 = { 3, 4 },
  s = { 1, 2, 3, 4 }, s1 = { 1, 2, 3, 4 }, s2 = { 1, 2, 3, 4 }, i1 = { 2, 4, 8 },
  i2 = { 2, 4, 4, 4 }, i3 = { 2, 4, 4, 4, 4 }, k1 = { 4, 4, 2 }, k2 = { 4, 4, 2, 2 },
  k3 = { 4, 4, 2, 2, 2 }, k4 = { 4 }, grid = { 2, 3, 3, 2 }, theta = { 2, 2, 3 }, lp = { 4, 2, 3 },
}
local i64 = { dtype = "i64" }
local others = {
  ids = rille.tensor({ 0, 2, 1 }, i64),
  idm = rille.tensor({ { 0, 2, 1 }, { 1, 0, 2 }, { 2, 1, 0 } }, i64),
  targets = rille.tensor({ { 1, 2 }, { 2, 1 } }, i64),
  lengths = rille.tensor({ 4, 4 }, i64), tlengths = rille.tensor({ 2, 2 }, i64),
  mask = rille.ones(3, 3, { dtype = "bool" }), rille = rille,
}

function others.unpooled(pool, unpool, x)
  local y, ids = pool(x, 2, { return_indices = true })
  return unpool(y, ids, 2)
end

local function values(shape, dtype)
  local x = rille.full(shape, 0.3)
  if #shape == 2 and shape[1] == 3 and shape[2] == 3 then x = x + rille.eye(3) end
  return x:to(dtype)
end

-- The dtype of the first result; nil where the call is an error.
local function dtype_of(call, first, rest, options)
  local env, made = {}, 0
  setmetatable(env, { __index = others })
  for name in call:gmatch "%f[%w_][%a][%w_]*" do
    if shapes[name] and not rawget(env, name) then
      made = made + 1
      env[name] = values(shapes[name], made == 1 and first or rest)
    end
  end
  local run = assert(load("return " .. call, "=row", "t", env))
  local fine, result = pcall(autocast, options, run)
  if not fine then return nil, tostring(result) end
  return type(result) == "userdata" and result.dtype or tostring(result)
end

-- What differs outside of autocast, too: ldexp by whole numbers is f32 here, the dtype of x there.
local differs = { ldexp = true }

local function check_column(policy, wanted, row)
  local patterns, faults = { { "f32", "f32" }, { "bf16", "bf16" }, { "bf16", "f32" } }, {}
  local i = 0
  for dtype in wanted:gmatch "%S+" do
    i = i + 1
    local options = { device = "cpu", dtype = "bf16", policy = policy }
    local got, why = dtype_of(row[2], patterns[i][1], patterns[i][2], options)
    if dtype ~= "-" and got ~= dtype and not differs[row[1]] then
      faults[#faults + 1] = ("%s, %s, of %s %s: got %s, PyTorch gives %s"):format(row[1], policy,
        patterns[i][1], patterns[i][2], got or why, dtype)
    end
  end
  return faults
end

for _, policy in ipairs { "cuda", "torch-cpu" } do
  t.test("dtypes of results are PyTorch's: policy " .. policy, function()
    local faults = {}
    for _, row in ipairs(dtypes) do
      local found = check_column(policy, policy == "cuda" and row[3] or row[4], row)
      table.move(found, 1, #found, #faults + 1, faults)
    end
    t.eq(table.concat(faults, "\n"), "")
  end)
end

-- ---- what takes part

t.test("f64, integers, calls in place and calls that name a dtype are left alone", function()
  local _ <close> = amp.autocast(bf16)
  local d, x = rille.ones(2, 2, { dtype = "f64" }), rille.ones(2, 2)
  t.eq((d:mm(d)).dtype, "f64")
  t.eq(rille.ones(2, 2, i64):sum().dtype, "i64")
  t.eq(x:clone():addmm_(x, x).dtype, "f32")
  t.error_like(function() x:clone():addmm_(x:to "bf16", x) end, { code = "E_DTYPE" })
  t.eq(x:to("bf16"):sum { dtype = "f64" }.dtype, "f64")
  t.eq(x:to("bf16"):sum { dtype = "bf16" }.dtype, "bf16")
end)

t.test("other 16-bit floats are cast, too, and a third one makes widest f32", function()
  local _ <close> = amp.autocast(bf16)
  local h = rille.ones(2, 2, { dtype = "f16" })
  t.eq(h:mm(h).dtype, "bf16")
  t.eq(rille.cat { h, h:to "bf16" }.dtype, "f32")
end)

t.test("numbers of scripts are no tensors", function()
  local _ <close> = amp.autocast(bf16)
  local x = rille.ones(2, { dtype = "bf16" })
  t.eq((x * 2).dtype, "bf16")
  t.eq((x ^ 2).dtype, "f32")
  t.eq((1 / x).dtype, "f32")
  t.eq((x / 2).dtype, "bf16")
end)

t.test("binary cross-entropy of probabilities is an error but under torch-cpu or a rule", function()
  local p = rille.full({ 2 }, 0.5)
  t.error_like(function() autocast(bf16, rille.bce_loss, p, p) end,
    { code = "E_AMP_BCE", op = "bce_loss", hint = "bce_with_logits_loss" })
  t.eq(autocast({ policy = "torch-cpu" }, rille.bce_loss, p, p).dtype, "f32")
  t.eq(autocast({ rules = { bce_loss = "f32" } }, rille.bce_loss, p, p).dtype, "f32")
end)

t.test("rules are stronger than the lists", function()
  local x = rille.ones(2, 2, { dtype = "bf16" })
  local rules = { gelu = "f32", mm = "follow", add = "lower" }
  local _ <close> = amp.autocast { dtype = "bf16", rules = rules }
  t.eq(rille.gelu(x).dtype, "f32")
  t.eq(x:float():mm(x:float()).dtype, "f32")
  t.eq((x + x:float()).dtype, "bf16")
  t.error_like(function() amp.autocast { rules = { gleu = "f32" } } end,
    { code = "E_OPTION", message = "a rule for 'gleu'" })
  t.error_like(function() amp.autocast { rules = { gelu = "f23" } } end,
    { code = "E_OPTION", message = "'f23' is no autocast policy" })
end)

-- ---- gradients

t.test("a parameter's gradient comes back in its dtype, and has the values of bf16", function()
  local w = rille.tensor({ { 1.0, 2.0 }, { 3.0, 4.0 } }, { requires_grad = true })
  local x = rille.tensor { { 1.0, 1.00390625 } }  -- the second is 1 in bf16
  local y = autocast(bf16, function() return rille.linear(x, w) end)
  t.eq(y.dtype, "bf16")
  y:float():sum():backward()
  t.eq(w.grad.dtype, "f32")
  t.eq(w.grad, { { 1.0, 1.0 }, { 1.0, 1.0 } })
end)

t.test("backward uses the dtypes of the forward, inside of a scope as outside", function()
  local function gradients(inside)
    rille.seed(3)
    local net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    local x = rille.randn(5, 4)
    local scope = amp.autocast(bf16)
    local loss = rille.mse_loss(net(x), rille.zeros(5, 2))
    if not inside then getmetatable(scope).__close(scope) end
    loss:backward()
    if inside then getmetatable(scope).__close(scope) end
    return net:parameters()[1].grad
  end
  t.eq(gradients(true), gradients(false))
end)

-- ---- the cache

t.test("each weight is cast once a step", function()
  rille.seed(1)
  local net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
  local opt = optim.SGD(net:parameters(), { lr = 0.1 })
  local x = rille.randn(2, 4)
  for _ = 1, 3 do
    local before = amp.autocast.counts()
    local loss = autocast(bf16, function()
      return net(net(net(x))):square():mean()  -- each layer three times
    end)
    loss:backward()
    opt:step()
    opt:zero_grad()
    local after = amp.autocast.counts()
    t.eq(after.weights - before.weights, 4)    -- two weights, two biases
    t.eq(after.reused - before.reused, 8)
  end
end)

t.test("a weight that changes inside of a scope is cast anew", function()
  local layer = nn.Linear(3, 3, { bias = false })
  local x = rille.ones(1, 3)
  local _ <close> = amp.autocast(bf16)
  t.ok(layer(x):abs():sum():item() > 0)
  rille.no_grad(function() layer.weight:zero_() end)
  t.eq(layer(x), { { 0.0, 0.0, 0.0 } })
  layer:to "f64"  -- which gives it other memory
  rille.no_grad(function() layer.weight:fill_(1) end)
  layer:to "f32"
  t.eq(layer(x), { { 3.0, 3.0, 3.0 } })
end)

t.test("a cast made under no_grad or inference has its gradient later", function()
  for _, mode in ipairs { "no_grad", "inference" } do
    local layer = nn.Linear(3, 1, { bias = false })
    local x = rille.ones(1, 3)
    autocast(bf16, function()
      t.eq(rille[mode](layer, x).requires_grad, false)
      layer(x):sum():backward()
    end)
    t.eq(layer.weight.grad, { { 1.0, 1.0, 1.0 } }, mode)
  end
end)

t.test("without a cache the results are the same and each use is a cast", function()
  local layer = nn.Linear(3, 3)
  local x = rille.randn(2, 3)
  local kept = autocast(bf16, layer, x)
  local before = amp.autocast.counts()
  local plain = autocast({ dtype = "bf16", cache = false }, function()
    layer(x)
    return layer(x)
  end)
  local after = amp.autocast.counts()
  t.eq(plain, kept)
  t.eq(after.weights, before.weights)
  t.eq(after.casts - before.casts, 6)
end)

-- ---- scopes

t.test("scopes nest, may be off inside, and leave on errors", function()
  local x = rille.ones(2, 2)
  local function now() return x:mm(x).dtype end
  local seen = {}
  autocast(bf16, function()
    seen[1] = now()
    autocast({ enabled = false }, function()
      seen[2] = now()
      autocast({ dtype = "f16" }, function() seen[3] = now() end)
      seen[4] = now()
    end)
    pcall(autocast, { dtype = "f16" }, error, "stop")
    seen[5] = now()
  end)
  t.eq(seen, { "bf16", "f32", "f16", "f32", "bf16" })
  t.eq(now(), "f32")
  t.eq(amp.autocast.active(), false)
  for _ = 1, 2 do
    local _ <close> = amp.autocast(bf16)
    t.eq({ amp.autocast.active() }, { true, "bf16" })
    t.eq({ amp.autocast.active "meta" }, { false })
    break
  end
  t.eq(amp.autocast.active(), false)
end)

t.test("scopes of two device types are independent", function()
  local x = rille.ones(2, 2)
  local m = rille.ones(2, 2, { device = "meta" })
  local _ <close> = amp.autocast { device = "meta", dtype = "f16" }
  t.eq({ x:mm(x).dtype, m:mm(m).dtype }, { "f32", "f16" })
  local _ <close> = amp.autocast(bf16)
  t.eq({ x:mm(x).dtype, m:mm(m).dtype }, { "bf16", "f16" })
  local one = rille.ones(2, 2, { device = "cpu:1" })
  t.eq(one:mm(one).dtype, "bf16")
end)

t.test("a scope belongs to its coroutine; one that begins inside inherits it", function()
  local x = rille.ones(2, 2)
  local inherits
  local co = coroutine.create(function()
    local _ <close> = amp.autocast(bf16)
    inherits = coroutine.wrap(function() return x:mm(x).dtype end)
    coroutine.yield(x:mm(x).dtype)
    coroutine.yield(x:mm(x).dtype)
  end)
  t.eq({ select(2, coroutine.resume(co)) }, { "bf16" })
  t.eq(x:mm(x).dtype, "f32")
  t.eq({ select(2, coroutine.resume(co)) }, { "bf16" })
  t.eq(x:mm(x).dtype, "f32")
  t.eq(inherits(), "f32")  -- it begins here, after all
  coroutine.close(co)
  t.eq(autocast(bf16, function()
    return coroutine.wrap(function() return x:mm(x).dtype end)()
  end), "bf16")
end)

t.test("wrapped functions and the plain function", function()
  local x = rille.ones(2, 2)
  local mm = amp.autocast.wrap({ dtype = "f16" }, function(a, b) return a:mm(b), 7 end)
  local y, seven = mm(x, x)
  t.eq({ y.dtype, seven }, { "f16", 7 })
  t.eq(amp.autocast.call(bf16, x.mm, x, x).dtype, "bf16")
  t.error_like(function() amp.autocast.wrap({}, 3) end, { code = "E_TYPE" })
  t.error_like(function() amp.autocast(bf16, 3) end, { code = "E_TYPE" })
end)

t.test("what can't be is an error, or a scope without effect", function()
  local function refused(options, fields)
    t.error_like(function() amp.autocast(options) end, fields)
  end
  refused({ device = "tpu" }, { code = "E_AMP_DEVICE", message = "'tpu' is no device type" })
  refused({ device = 3 }, { code = "E_TYPE" })
  refused({ dtype = "f32" }, { code = "E_AMP_DTYPE", message = "can't be cast to f32" })
  refused({ dtype = "i64" }, { code = "E_AMP_DTYPE" })
  refused({ policy = "cpu" }, { code = "E_TYPE" })
  refused({ dtpye = "bf16" }, { code = "E_OPTION", message = "did you mean 'dtype'" })
  local x = rille.ones(2, 2)
  t.eq(autocast({ dtype = "f32", lenient = true }, x.mm, x, x).dtype, "f32")
end)

t.test("a scope for a device that is not there does nothing and says so once", function()
  if amp.is_available "cuda" then return end
  local said, warned, x = {}, warn, rille.ones(2, 2)
  warn = function(text) said[#said + 1] = text end -- luacheck: ignore
  local fine, err = pcall(function()
    for _ = 1, 3 do t.eq(autocast({ device = "cuda" }, x.mm, x, x).dtype, "f32") end
  end)
  warn = warned -- luacheck: ignore
  assert(fine, err)
  t.eq(said, { "amp.autocast: there is no CUDA device here: the scope does nothing" })
end)

t.test("is_available tells the truth and the reason", function()
  t.eq({ amp.is_available "cpu" }, { true })
  t.eq({ amp.is_available("cpu", "f16") }, { true })
  t.eq({ amp.is_available("cpu", "f32") },
    { false, "autocast computes in f16 or bf16, not in f32" })
  local fine, reason = amp.is_available "cuda"
  t.eq({ fine, reason }, { false, "there is no CUDA device here" })
  t.error_like(function() amp.is_available "tpu" end, { code = "E_AMP_DEVICE" })
end)

-- ---- functions of scripts

local function square(options)
  options.forward = function(ctx, x)
    ctx:save(x)
    return x:mm(x)
  end
  options.backward = function(ctx, d)
    local x = ctx:saved()
    options.seen = { d.dtype, rille.ones(2, 2):mm(rille.ones(2, 2)).dtype }
    return d:mm(x:t()) + x:t():mm(d)
  end
  return rille.Function(options), options
end

t.test("a Function runs in the scope of its call, backward too", function()
  local f, options = square {}
  local x = rille.ones(2, 2, { requires_grad = true })
  local y = autocast(bf16, f, x)
  t.eq(y.dtype, "bf16")
  y:float():sum():backward()
  t.eq(options.seen, { "bf16", "bf16" })
  t.eq(x.grad.dtype, "f32")
  t.eq(x.grad, { { 4.0, 4.0 }, { 4.0, 4.0 } })
end)

t.test("cast_inputs runs it in one dtype, with autocast off", function()
  local f, options = square { cast_inputs = "f32", device = "cpu" }
  local x = rille.ones(2, 2, { dtype = "bf16", requires_grad = true })
  local y = autocast(bf16, f, x)
  t.eq(y.dtype, "f32")
  y:sum():backward()
  t.eq(options.seen, { "f32", "f32" })
  t.eq(x.grad.dtype, "bf16")
  t.eq(f(x).dtype, "bf16")  -- outside of a scope it does nothing
end)

-- ---- explain

t.test("explain lists every call with its dtype and why", function()
  local layer = nn.Linear(3, 2)
  local function step(x)
    local y = rille.gelu(layer(x))
    y:add_(1)
    layer(x)
    return rille.mse_loss(y, rille.zeros(2, 2)) + y:sum()
  end
  local list = amp.autocast.explain(step, rille.ones(2, 3))
  local lines = {}
  for i, call in ipairs(list) do
    t.ok(call.where:find "autocast_test.lua:%d+", call.where)
    lines[i] = table.concat({ call.op, call.arguments, call.result, call.why }, "; ")
  end
  t.eq(lines, {
    "linear; f32 f32 f32; bf16; lower: 3 arguments cast to bf16",
    "gelu; bf16; bf16; follow: as they come",
    "add_; bf16 number; bf16; in place: as they come",
    "linear; f32 f32 f32; bf16; lower: 3 arguments cast to bf16",
    "mse_loss; bf16 f32; f32; f32: 1 argument cast to f32",
    "sum; bf16; f32; f32_out: the result in f32",
    "add; f32 f32; f32; follow: as they come",
  })
  t.eq(amp.autocast.active(), false)
end)

t.test("its text counts equal lines once", function()
  local x = rille.ones(2, 2)
  local list = amp.autocast.explain(function()
    for _ = 1, 3 do x:mm(x) end
  end)
  local text = tostring(list):gsub("%S*autocast_test.lua:%d+", "here.lua:1")
  t.eq(text:gsub("here.lua:1%s*", "here.lua:1  "):gsub("^where%s*", "where  "),
    "where  op  arguments  result  why\n"
    .. "here.lua:1  mm  f32 f32    bf16    lower: 2 arguments cast to bf16 (3 times)")
end)
