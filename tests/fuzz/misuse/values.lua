-- Arguments, right and wrong: anything a script may pass, and things of a wanted type.
local rille = require "rille"
local nn, optim, data, amp = rille.nn, rille.optim, rille.data, rille.amp

local values = { boom = "boom: raised by the sweep's own callback" }

local dtypes = { "f64", "f32", "bf16", "f16", "i64", "i32", "i16", "i8", "u8", "bool", "f8_e4m3",
  "f8_e5m2", "f6_e2m3", "f4_e2m1" }
local integers = { math.mininteger, math.maxinteger, -(1 << 31), 1 << 31, 1 << 40, 1 << 62,
  -(1 << 62), (1 << 53) + 1, -7, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 8, 33, 100000 }
local numbers = { 0 / 0, 1 / 0, -1 / 0, -0.0, 0.5, 1.5, -0.5, 1e300, -1e300, 1e-320, 2.0 ^ 63,
  2.0 ^ 53, 1e18, 3.0 }
local words = { "", "x", "mean", "sum", "none", "max", "f32", "i64", "cpu", "cpu:7", "meta", "cuda",
  "same", "valid", "tanh", "relu", "weight", "a\0b", "%s%n%d", ("long"):rep(2000), "\xff\xfe",
  "ij,jk->ik", "4GiB", "train", "__index", "__gc", "1" }
local sizes = { 0, 1, 2, 3, 4, 5, 8, 17, 33 }

local function shape(d, rank)
  local s = {}
  for i = 1, rank or d:int(5) - 1 do s[i] = d:pick(sizes) end
  return s
end

local views = {
  function(_, t) return t:rank() > 0 and t:size(1) > 1 and t:narrow(1, 2, t:size(1) - 1) or t end,
  function(_, t) return t:rank() > 1 and t:transpose(1, -1) or t end,
  function(_, t) return t:unsqueeze(1):expand(3, -1) end,
  function(_, t) return t:detach() end,
  function(_, t) return t:requires_grad_() end,
  function(_, t) return t:clone():requires_grad_() * 2 end,
  function(_, t) return t:to "meta" end,
  function(_, t) return t * (0 / 0) end,
}

local function tensor(d, s, dtype)
  s = s or shape(d)
  dtype = dtype or (d:chance(0.5) and "f32" or d:pick(dtypes))
  local t
  if d:chance(0.2) then t = rille.zeros(s) else t = rille.randn(s) * d:pick { 1, 1, 5, 1e4 } end
  local ok, cast = pcall(t.to, t, dtype)
  if ok then t = cast end
  if d:chance(0.25) then
    local fine, view = pcall(d:pick(views), d, t)
    if fine and rille.is_tensor(view) then t = view end
  end
  return t
end
values.tensor = tensor

local function freed()
  local kept
  rille.scope(function() kept = rille.ones(3) * 2 end)
  return kept
end

local function boom() error(values.boom, 0) end

local callbacks = {
  function() return function(...) return ... end end,
  function() return function() end end,
  function() return boom end,
  function() return function(x) return rille.is_tensor(x) and x * 2 or x end end,
  function() return function() return rille.ones(2, 3) end end,
  function() return function() return 0 / 0 end end,
  function() return function() coroutine.yield() end end,
  function() return function() return setmetatable({}, { __index = boom }) end end,
  function()
    local function again(...) return again(...) .. "" end
    return again
  end,
}
local function callback(d) return d:pick(callbacks)(d) end

local function list(d, depth, of)
  local t = {}
  for i = 1, d:int(4) - 1 do t[i] = of(d, depth) end
  return t
end

local function deep()
  local t = { 1 }
  for _ = 1, 300 do t = { t } end
  return t
end

local odd_tables = {
  function() return {} end,
  function() local t = {} t[1] = t t.self = t return t end,
  function() return deep() end,
  function() return { [1 << 40] = 1, [-1] = 2, x = 3 } end,
  function() return setmetatable({}, { __index = function(t) return t end }) end,
  function() return setmetatable({}, { __index = boom }) end,
  function() return setmetatable({}, { __len = function() return 1 << 16 end,
    __index = function(_, i) return i end }) end,
  function() return setmetatable({}, { __call = function(_, ...) return ... end,
    __tostring = function() return 7 end, __name = 3, __pairs = boom, __len = boom }) end,
  function(d) return list(d, 1, function() return d:pick(integers) end) end,
  function(d) return list(d, 1, function() return d:pick(numbers) end) end,
  function(d) return list(d, 1, function() return tensor(d) end) end,
  function(d) return list(d, 1, function() return d:pick(words) end) end,
  function(d) return { [d:pick(words)] = tensor(d), dim = d:pick(integers) } end,
}

local function model(d)
  return d:pick {
    function() return nn.Linear(3, 2) end,
    function() return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)) end,
    function() return nn.LSTM(3, 4) end,
    function() return nn.Embedding(5, 3) end,
    function() return nn.MultiheadAttention(4, 2) end,
    function() return nn.Sequential() end,
    function() return nn.ModuleDict { a = nn.Conv2d(1, 2, 3) } end,
  }()
end
local function optimizer(d)
  local made = d:pick { "SGD", "Adam", "AdamW", "LBFGS" }
  return optim[made](model(d):parameters(), { lr = 0.1 })
end
local function schedule(d)
  return optim.lr.Cosine(optim.SGD({ rille.ones(2, { requires_grad = true }) }, { lr = 1 }),
    { steps = d:int(9) })
end
local function loader(d)
  return data.Loader(data.table { x = rille.ones(6, 2), y = rille.zeros(6) },
    { batch = d:int(4), shuffle = d:chance(0.5) })
end

-- Objects by the name of their class, as the catalogue has it.
values.objects = {
  Tensor = function(d) return tensor(d) end,
  Module = model, Optimizer = optimizer, Schedule = schedule, DataLoader = loader,
  GradScaler = function() return amp.GradScaler() end,
  Generator = function() return rille.generator(1) end,
}
local makers = {}
for _, make in pairs(values.objects) do makers[#makers + 1] = make end
local rare = {
  freed, function() return io.stdout end, function() return coroutine.create(print) end,
  function() return rille end, function() return nn.Linear end, function() return nn end,
  function() return rille.no_grad end, function() return rille.no_grad() end,
  function() return rille.scope() end, function() return optim.EMA(nn.Linear(2, 2)) end,
  function() return data.Sequential(5) end, function() return print end,
}

-- Anything.
function values.any(d, depth)
  depth = depth or 1
  local n = d:int(20)
  if n <= 5 then return tensor(d) end
  if n <= 8 then return d:pick(integers) end
  if n == 9 then return d:pick(numbers) end
  if n <= 11 then return d:pick(words) end
  if n == 12 then return nil end
  if n == 13 then return d:chance(0.5) end
  if n == 14 then return callback(d) end
  if n <= 17 then
    if depth < 3 and d:chance(0.3) then return list(d, depth + 1, values.any) end
    return d:pick(odd_tables)(d)
  end
  if n <= 19 then return d:pick(makers)(d) end
  return d:pick(rare)(d)
end

local small = { 1, 1, 2, 2, 3, 4 }

local function options(d, fields, c)
  local t = {}
  for _, f in ipairs(fields) do
    if d:chance(0.3) then t[f.name] = values.of(d, f.kind, c) end
  end
  if d:chance(0.1) then t[d:pick(words)] = values.any(d) end
  return t
end

-- Something of that type, as the catalogue writes types; now and then something else.
function values.of(d, kind, c)
  if not kind or d:chance(0.12) then return values.any(d) end
  local literals = {}
  for word in kind:gmatch '"(.-)"' do literals[#literals + 1] = word end
  if #literals > 0 then return d:pick(literals) end
  if c.classes[kind] and #c.classes[kind] > 0 then return options(d, c.classes[kind], c) end
  if kind:find "rille.Tensor%[%]" then
    return list(d, 1, function() return tensor(d, c.shape, c.dtype) end)
  end
  if kind:find "rille.Tensor" then
    if d:chance(0.7) then return tensor(d, c.shape, c.dtype) end
    return tensor(d, d:chance(0.5) and c.shape or nil, d:chance(0.4) and "i64" or nil)
  end
  if kind:find "fun" then return callback(d) end
  if kind:find "%[%]" and d:chance(0.6) then
    return list(d, 1, function()
      return kind:find "string" and d:pick(words) or d:pick(d:chance(0.8) and small or integers)
    end)
  end
  if kind:find "integer" then return d:pick(d:chance(0.7) and small or integers) end
  if kind:find "number" then return d:pick(d:chance(0.6) and { 0.1, 0.5, 1, 2 } or numbers) end
  if kind:find "boolean" then return d:chance(0.5) end
  if kind:find "dtype" then return d:pick(dtypes) end
  if kind:find "string" then return d:pick(words) end
  for class, make in pairs(values.by_type) do
    if kind:find(class, 1, true) then return make(d) end
  end
  if kind:find "table" then return d:pick(odd_tables)(d) end
  return values.any(d)
end

values.by_type = {
  ["nn.Module"] = model, ["optim.Optimizer"] = optimizer, ["lr.Schedule"] = schedule,
  ["DataLoader"] = loader, ["rille.Generator"] = values.objects.Generator,
  ["data.Sampler"] = function(d) return data.Random(d:int(9)) end,
  ["data.Set"] = function(d) return data.table { x = rille.ones(d:int(9), 2) } end,
}

values.shape = shape
values.dtypes = dtypes
return values
