-- Walks all that a script in the sandbox reaches and prints it, a line for each table or object:
-- its path and the names of the functions and tables in it. Reached are fields, metatables, what
-- constructors give, what callbacks and iterators get, errors. The words after the file are the
-- names that `rille` has, those of the library's modules, and of methods (.step).
local rille = require "rille"

local path_of, queue, lines, names = {}, {}, {}, {}
local own = {}                           -- what is this script's
local tensor_seen
local events = {
  "__index", "__newindex", "__call", "__gc", "__close", "__metatable", "__pairs", "__name", "names",
  "native", "class", "kind", "curve", "options", "STATE", "engine",
}

local containers = { table = true, userdata = true, thread = true }

local function reach(path, value)
  local kind = type(value)
  if kind ~= "function" and not containers[kind] or own[value] or path_of[value] then return end
  if rille.is_tensor(value) then         -- one stands for all
    if tensor_seen and tensor_seen ~= value then return end
    tensor_seen = value
  end
  path_of[value] = path
  if containers[kind] then queue[#queue + 1] = value end
end

local function shown(key)
  local kind = type(key)
  return kind == "string" and key or kind == "number" and "#" or "[" .. kind .. "]"
end

-- Names and values that a container shows.
local function parts_of(value)
  local parts, seen = {}, {}
  local function add(key, part)
    if seen[key] == nil and (type(part) == "function" or containers[type(part)]) then
      seen[key] = true
      parts[#parts + 1] = { shown(key), part }
      if containers[type(key)] or type(key) == "function" then
        parts[#parts + 1] = { "key of " .. shown(key), key }
      end
    end
  end
  if type(value) == "table" then
    for key, part in next, value do add(key, part) end
    pcall(function()
      for key, part in pairs(value) do add(key, part) end
    end)
  end
  for _, list in ipairs { events, type(value) == "userdata" and names or {} } do
    for _, name in ipairs(list) do
      local fine, part = pcall(function() return value[name] end)
      if fine then add(name, part) end
    end
  end
  add("(metatable)", getmetatable(value))
  table.sort(parts, function(a, b) return a[1] < b[1] end)
  return parts
end

local function walk(note)
  local at = 0
  while at < #queue do
    at = at + 1
    local value = queue[at]
    local path, list, last = path_of[value], {}, nil
    for _, part in ipairs(parts_of(value)) do
      if not own[part[2]] then
        if part[1] ~= last then list[#list + 1] = part[1] end
        last = part[1]
        reach(path .. "." .. part[1], part[2])
      end
    end
    if note then note(path, value, list) end
  end
  queue = {}
end

local function is_writable(value)
  return type(value) == "table" and pcall(rawset, value, "a name that nothing has", nil)
end

-- ---- what callbacks get, and objects of each kind

local function catcher(into, name, result)
  local function caught(...)
    for i = 1, select("#", ...) do into[name .. ":" .. i] = (select(i, ...)) end
    return result
  end
  own[caught] = true
  return caught
end

local makers = {}

function makers.layers(into)
  local nn = rille.nn
  into.model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.BatchNorm1d(2), nn.ReLU())
  into.attention = nn.MultiheadAttention(4, 2)
  into.encoder = nn.TransformerEncoder({ nn.TransformerEncoderLayer(4, 2) })
  into.lstm, into.embedding, into.pool = nn.LSTM(2, 2), nn.Embedding(3, 2), nn.MaxPool2d(2)
  into.dict, into.list = nn.ModuleDict { a = nn.ReLU() }, nn.ModuleList { nn.ReLU() }
  into.params, into.conv = nn.ParameterList { rille.ones(2) }, nn.Conv2d(1, 1, 1)
  into.loss = nn.CrossEntropyLoss and nn.CrossEntropyLoss() or nn.ReLU()
  into.own_class = nn.module "Own"
  into.own_object = into.own_class()
  into.own_child = nn.module("Child", nn.Linear)(1, 1)
end

function makers.module_hooks(into)
  local layer = rille.nn.Linear(2, 2)
  into.pre = layer:register_forward_pre_hook(catcher(into, "forward_pre_hook"))
  into.post = layer:register_forward_hook(catcher(into, "forward_hook"))
  into.backward = layer:register_backward_hook(catcher(into, "backward_hook"))
  layer(rille.ones(1, 2, { requires_grad = true })):sum():backward()
  layer:apply(catcher(into, "apply"))
  into.fields, into.children = layer:fields(), layer:named_children()
  into.tensors, into.parameters = layer:own_tensors "parameter", layer:named_parameters()
  into.state, into.groups = layer:state_dict(), layer:parameter_groups()
end

function makers.tensors(into)
  local w = rille.ones(2, { requires_grad = true })
  into.hook = w:register_hook(catcher(into, "tensor_hook"))
  into.scope = rille.saved_tensors(catcher(into, "pack", 1), catcher(into, "unpack", w))
  local y = (w * w):sum()
  pcall(y.backward, y)
  pcall(function() local _ <close> = into.scope end)
  into.tensor, into.generator, into.packed = w, rille.generator(1), nil
  into.stats, into.list, into.info = w:fpstats(), w:tolist(), rille.finfo and rille.finfo "f32"
end

function makers.functions(into)
  local w = rille.ones(2, { requires_grad = true })
  local f = rille.Function {
    forward = catcher(into, "forward", w * 1), backward = catcher(into, "function_backward"),
  }
  into.f = f
  pcall(function() f(w):sum():backward() end)
end

function makers.optimizers(into)
  local w = rille.ones(2, { requires_grad = true })
  for _, name in ipairs { "SGD", "Adam", "AdamW", "LBFGS" } do
    into[name] = rille.optim[name]({ w }, { lr = 0.1 })
  end
  into.SGD:step(catcher(into, "closure", w:sum()))
  w.grad = rille.ones(2)
  into.Adam:step()
  into.state, into.scaler = into.Adam:state_dict(), rille.amp.GradScaler()
  local lr, opt = rille.optim.lr, into.SGD
  into.schedule, into.plateau = lr.Cosine(opt, { steps = 4 }), lr.Plateau(opt)
  into.lambda = lr.Lambda(opt, catcher(into, "lambda", 1))
  into.chain = lr.chain(lr.Constant(opt, { steps = 2 }), lr.Cosine(opt, { steps = 4 }))
  into.ema = rille.optim.EMA(rille.nn.Linear(1, 1))
  into.swa = rille.optim.SWA(rille.nn.Linear(1, 1))
end

function makers.data(into)
  local data = rille.data
  local set = data.table { x = rille.ones(4, 2) }
  into.set, into.map = set, data.map(set, catcher(into, "map"))
  pcall(function() return into.map[1] end)
  into.concat, into.subset = data.concat(set, set), data.subset(set, { 1 })
  into.split = data.split(set, { 0.5, 0.5 })
  into.loader = data.Loader(set, {
    batch = 2, transform = catcher(into, "transform", 1), collate = catcher(into, "collate", 1),
  })
  for batch, i in into.loader:iter() do into.batch, into.number = batch, i end
  into.iter, into.loader_state = into.loader:iter(), into.loader:state()
  for _, name in ipairs { "Sequential", "Random" } do
    into[name] = data[name](4)
    into[name .. ":iter"] = into[name]:iter()
  end
  into.windows = data.windows(rille.arange(0, 9, { dtype = "i64" }), { length = 2 })
  into.transform_table = data.transforms
end

function makers.scopes(into)
  into.scope, into.no_grad, into.autocast = rille.scope(), rille.no_grad(), rille.amp.autocast {}
  into.device = rille.device "cpu"
  for _, name in ipairs { "device", "autocast", "no_grad", "scope" } do
    local _ <close> = into[name]
  end
  into.progress, into.none, into.none, into.bar = rille.progress(3)
  into.report = rille.amp.report(rille.nn.Linear(1, 1))
  into.report:stop()
  into.histogram = rille.amp.histogram(rille.nn.Linear(1, 1))
  into.explained = rille.amp.autocast.explain(function() return rille.ones(1) end)
end

function makers.recipes(into)
  into.recipe = rille.recipe {
    name = "x", setup = catcher(into, "setup"), batches = catcher(into, "batches"),
    loss = catcher(into, "loss"),
  }
  local _, err = pcall(into.recipe.run, into.recipe, {})
  into.refused = err
end

function makers.errors(into)
  for i, f in ipairs {
    function() return rille.nosuch end, function() rille.add(1) end,
    function() rille.nn.Linear() end,
    function() rille.matmul(rille.ones(1, 2), rille.ones(3, 4)) end, function() require "io" end,
    function() rille.optim.SGD({}, { lr = "x" }) end, function() rille.save("x", {}) end,
    function() rille.nn.x = 1 end, function() local x = nil; return x.y end,
  } do
    into["error " .. i] = select(2, pcall(f))
  end
end

-- ---- all of it

local public = {}
for _, word in ipairs(arg) do
  if word:sub(1, 1) == "." then
    events[#events + 1] = word:sub(2)
  else
    public[#public + 1] = word
    names[#names + 1] = word
    names[#names + 1] = word .. "_"
  end
end
for name in ("grad shape dtype item tolist backward state set_state"):gmatch "%S+" do
  names[#names + 1] = name
end
own[_G], own[arg] = true, true
for key, value in next, _G do
  if key ~= "arg" and key ~= "_G" then reach(key, value) end
end
reach("rille", rille)
for _, word in ipairs(public) do
  local fine, part
  if word:find("rille.", 1, true) then
    fine, part = pcall(require, word)
    if fine then lines[#lines + 1] = "require " .. word end
  else
    fine, part = pcall(function() return rille[word] end)
  end
  if fine then reach(word:find("rille.", 1, true) and word or "rille." .. word, part) end
end

local function keep(path, _, list)
  if #list > 0 then lines[#lines + 1] = path .. ": " .. table.concat(list, " ") end
end
walk(keep)
local order = {}
for name in next, makers do order[#order + 1] = name end
table.sort(order)
for _, name in ipairs(order) do
  local into = {}
  own[into] = true
  makers[name](into)
  local keys = {}
  for key in next, into do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do reach(name .. " " .. key, into[key]) end
  walk(keep)
end

-- What two objects that were made apart from one another both hold must not be writable.
local first = path_of
path_of = {}
for _, name in ipairs(order) do
  local into = {}
  own[into] = true
  makers[name](into)
  for key, value in next, into do reach(name .. " " .. key, value) end
end
walk(function(path, value)
  if first[value] and is_writable(value) then lines[#lines + 1] = "SHARED AND WRITABLE " .. path end
end)

table.sort(lines)
for _, line in ipairs(lines) do print(line) end
