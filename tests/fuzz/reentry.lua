-- The re-entry sweep: callbacks of every kind call back into random other parts of the library.
--   rille run tests/fuzz/reentry.lua [SEED] [SECONDS]
-- One line a call, before it, with one more column for each callback around it: the last line names
-- what crashed. Errors are caught where they come out, and must be objects with a code or of Lua's
-- own. The run fails on any other, and where afterwards a plain training step doesn't give what it
-- gave before.
local rille = require "rille"

local seed, seconds = tonumber(arg[1]) or 1, tonumber(arg[2]) or 2
math.randomseed(seed)
rille.seed(seed)

local deepest, most = 5, 60                              -- callbacks in one another; calls a round
local depth, calls, left, wrong = 0, 0, 0, {}

local function pick(list) return list[math.random(#list)] end

local own = {
  "stack overflow", "attempt to yield", "cannot resume", "error in error handling", "on purpose",
  "invalid order function",
}

local function judge(name, err)
  if type(err) == "table" and type(err.code) == "string" and err.kind ~= "internal" then return end
  local text = tostring(err)
  for _, known in ipairs(own) do
    if type(err) == "string" and text:find(known, 1, true) then return end
  end
  wrong[#wrong + 1] = name .. ": " .. text
end

-- What calls work on; made anew every round.
local world

io.stdout:setvbuf "no"                                     -- a crash loses no line

local set_class = {}

local actions, names = {}, {}

local function act(name)
  if left <= 0 or depth >= deepest then return end
  left, calls, depth = left - 1, calls + 1, depth + 1
  name = name or pick(names)
  io.write((" "):rep(depth), name, "\n")
  local ok, err = pcall(actions[name], world)
  depth = depth - 1
  if not ok then judge(name, err) end
end

-- What a callback does besides its work. Some raise.
local function inside()
  for _ = 1, math.random(0, 2) do act() end
  local dice = math.random(40)
  if dice == 1 then error("on purpose", 0) end
  if dice == 2 then error { code = "E_OWN", kind = "data" } end
  if dice == 3 and coroutine.isyieldable() then coroutine.yield() end
end

local function define(list)
  for name, f in pairs(list) do
    actions[name] = f
    names[#names + 1] = name
  end
end

-- ---- the world

function set_class:__index(i)
  if math.type(i) ~= "integer" then return nil end
  inside()
  return { x = rille.full({ 3 }, i / 10), y = i }
end
function set_class:__len()
  inside()
  return 6
end

local function new_world()
  local w = { hooks = {}, module_hooks = {}, scopes = {}, kept = {} }
  w.model = rille.nn.Sequential {
    rille.nn.Linear(3, 4), rille.nn.BatchNorm1d(4), rille.nn.Tanh(), rille.nn.Linear(4, 1),
  }
  w.model:init()
  w.x = rille.randn(5, 3, { requires_grad = true })
  w.params = w.model:parameters()
  local pickers = { rille.optim.SGD, rille.optim.AdamW, rille.optim.Adam }
  w.opt = pick(pickers)(w.params, { lr = 1e-3 })
  w.lbfgs = rille.optim.LBFGS(w.params, { max_iter = 2 })
  w.schedule = rille.optim.lr.Cosine(w.opt, { steps = 10 })
  w.scaler = rille.amp.GradScaler { init_scale = 8, group = function(found)
    inside()
    return found
  end }
  w.ema = rille.optim.EMA(w.model)
  w.loss = (w.model(w.x) ^ 2):mean()
  w.state = w.opt:state_dict()
  w.weights = w.model:state_dict()
  return w
end

local function fresh_loss(w)
  local loss = (w.model(w.x) ^ 2):mean()
  w.loss = loss
  return loss
end

-- ---- the engine

define {
  forward = function(w) fresh_loss(w) end,
  backward = function(w) w.loss:backward() end,
  backward_retained = function(w) w.loss:backward { retain_graph = true } end,
  grad = function(w) rille.grad(w.loss, w.params[1], { create_graph = math.random(2) == 1 }) end,
  step = function(w) w.opt:step() end,
  closure_step = function(w)
    w.opt:step(function()
      inside()
      local loss = fresh_loss(w)
      loss:backward()
      return loss
    end)
  end,
  lbfgs_step = function(w)
    w.lbfgs:step(function()
      inside()
      w.lbfgs:zero_grad()
      local loss = fresh_loss(w)
      loss:backward()
      return loss
    end)
  end,
  zero_grad = function(w)
    pick { w.opt, w.model }:zero_grad { set_to_none = math.random(2) == 1 }
  end,
  scaled_step = function(w)
    w.scaler:scale(fresh_loss(w)):backward()
    w.scaler:step(w.opt)
    w.scaler:update()
  end,
  unscale = function(w) w.scaler:unscale_(w.opt) end,
  scaler_update = function(w) w.scaler:update(math.random(2) == 1 and 4.0 or nil) end,
  scaler_load = function(w) w.scaler:load_state_dict(w.scaler:state_dict()) end,
  clip = function(w) rille.nn.clip_grad_norm_(w.params, 0.1) end,
  clip_value = function(w) rille.nn.clip_grad_value_(w.params, 0.1) end,
  load_optimizer = function(w) w.opt:load_state_dict(w.state) end,
  load_model = function(w) w.model:load_state_dict(w.weights) end,
  cast_model = function(w) w.model:to(pick { "f32", "bf16", "f64" }):to "f32" end,
  average = function(w) w.ema:update() end,
  schedule = function(w) w.schedule:step() end,
  new_world = function() world = new_world() end,
  collect = function() collectgarbage() end,
  write_in_place = function(w)
    rille.no_grad(function() pick { w.x, pick(w.params) }:mul_(1.0) end)
  end,
  close_tensor = function(w)
    local _ <close> = pick { w.x, w.loss, w.x:detach(), pick(w.params) }
  end,
  deep = function()
    local function again(n)
      if n > 0 then return again(n - 1) + rille.ones(1):item() end
      return 0
    end
    again(200)
  end,
}

-- ---- hooks and scopes

define {
  add_hook = function(w)
    local t = pick { w.x, pick(w.params), w.loss }
    w.hooks[#w.hooks + 1] = t:register_hook(function(dy)
      inside()
      return math.random(2) == 1 and dy * 2 or nil
    end)
  end,
  add_own_hook = function(w)                               -- one that takes itself away
    local hook
    hook = pick(w.params):register_hook(function()
      hook.remove()
      inside()
    end)
  end,
  remove_hook = function(w)
    local hook = table.remove(w.hooks)
    if hook then hook.remove() end
  end,
  module_hook = function(w)
    local part, f = w.model[math.random(4)], function() inside() end
    local hook = pick {
      part.register_forward_pre_hook, part.register_forward_hook, part.register_backward_hook,
    }
    table.insert(w.module_hooks, hook(part, f))
  end,
  remove_module_hook = function(w)
    local hook = table.remove(w.module_hooks)
    if hook then hook.remove() end
  end,
  saved_tensors = function(w)
    local pack = function(t)
      inside()
      return math.random(2) == 1 and t or { t }
    end
    local unpack = function(kept)
      inside()
      return type(kept) == "table" and kept[1] or kept
    end
    rille.saved_tensors(pack, unpack, fresh_loss, w)
    act "backward"
  end,
  function_of_own = function(w)
    local square = rille.Function {
      forward = function(ctx, x)
        inside()
        ctx:save(x)
        return x * x
      end,
      backward = function(ctx, dy)
        inside()
        return ctx:saved() * dy * 2
      end,
    }
    w.loss = square(w.x):sum()
    act "backward"
  end,
  scope = function(w)
    rille.scope(function()
      local t = w.x * 2
      inside()
      return t
    end)
  end,
  scope_left_open = function(w) w.scopes[#w.scopes + 1] = rille.scope() end,
  closes = function()
    local _ <close> = setmetatable({}, { __close = inside })
    local _ <close> = pick { rille.no_grad, rille.scope, rille.enable_grad }()
    inside()
  end,
  mode = function() pick { rille.no_grad, rille.enable_grad, rille.inference }(inside) end,
  average_applied = function(w) w.ema:apply(inside) end,
  in_coroutine = function()
    local co = coroutine.wrap(function()
      local _ <close> = rille.no_grad()
      inside()
      coroutine.yield()
      inside()
    end)
    co()
    if math.random(2) == 1 then co() end
  end,
  autocast = function() rille.amp.autocast({ device = "cpu", dtype = "bf16" }, inside) end,
  gradcheck = function()
    local x = rille.randn(2, { dtype = "f64", requires_grad = true })
    rille.debugging.gradcheck(function(a)
      inside()
      return (a * a):sum()
    end, x)
  end,
  apply = function(w) w.model:apply(function() inside() end) end,
}

-- ---- data, tables

define {
  loader = function(w)
    local loader = rille.data.Loader(setmetatable({}, set_class), {
      batch = 2, shuffle = true, transform = function(item)
        inside()
        return item
      end, collate = function(items)
        inside()
        return #items
      end,
    })
    w.loader = loader
    for _ in loader do
      inside()
      if math.random(4) == 1 then break end
    end
  end,
  close_loader = function(w) if w.loader then w.loader:close() end end,
  loader_again = function(w)
    if w.loader then
      for _ in w.loader do if math.random(2) == 1 then break end end
    end
  end,
  loader_state = function(w) if w.loader then w.loader:load_state(w.loader:state()) end end,
  sampler = function()
    local sampler = setmetatable({}, {
      __call = function(_, _, i)
        inside()
        i = (i or 0) + 1
        return i <= 3 and i or nil
      end,
      __len = function()
        inside()
        return 3
      end,
    })
    local order = { iter = function()
      inside()
      return sampler
    end, set_epoch = inside }
    for _ in rille.data.Loader(setmetatable({}, set_class), { sampler = order, batch = 1 }) do
      inside()
    end
  end,
  map = function()
    local set = rille.data.map(setmetatable({}, set_class), function(item)
      inside()
      return item
    end)
    return set[1]
  end,
  sort = function()
    local list = {}
    for i = 1, 8 do list[i] = math.random(100) end
    table.sort(list, function(a, b)
      if math.random(8) == 1 then inside() end
      return a < b
    end)
  end,
  gsub = function() ("a b c"):gsub("%w", function() inside() end) end,
  lying_table = function()
    rille.tensor(setmetatable({ 1, 2 }, { __index = inside, __len = function()
      inside()
      return 2
    end }))
  end,
  lying_index = function(w)
    return w.x[setmetatable({ 1 }, { __index = inside, __len = function() inside() return 1 end })]
  end,
  lying_state = function(w)
    w.model:load_state_dict(setmetatable({}, { __pairs = function()
      inside()
      return next, w.weights
    end, __index = function(_, key)
      inside()
      return w.weights[key]
    end }))
  end,
  lying_group = function(w)
    w.opt:add_group(setmetatable({}, { __index = function(_, key)
      inside()
      return key == "params" and { rille.zeros(2, { requires_grad = true }) } or nil
    end }))
  end,
  lying_gradients = function(w)                            -- what an optimizer walks lies
    w.opt.groups[1].params = setmetatable({}, { __index = function(_, i)
      inside()
      return w.params[i]
    end })
    w.opt:step()
  end,
  shown = function(w)
    return tostring(setmetatable({}, { __tostring = function()
      inside()
      return tostring(w.model)
    end }))
  end,
}
table.sort(names)

-- ---- the sweep

local function plain_step()
  rille.seed(7)
  local w = rille.randn(4, 3, { requires_grad = true })
  local loss = (w * w):sum()
  loss:backward()
  rille.optim.SGD({ w }, { lr = 0.1 }):step()
  return w:detach():sum():item()
end

local expected, until_then = plain_step(), os.time() + seconds
local rounds = 0
while os.time() < until_then do
  rounds, left, depth = rounds + 1, most, 0
  io.write("round ", rounds, " of seed ", seed, "\n")
  world = new_world()
  while left > 0 do act() end
  world = nil
  if not rille.is_grad_enabled() then wrong[#wrong + 1] = "a round left gradients off" end
  if plain_step() ~= expected then wrong[#wrong + 1] = "a round changed a plain step" end
end
collectgarbage()
print(("reentry: %d calls in %d rounds of seed %d"):format(calls, rounds, seed))
for i = 1, math.min(#wrong, 20) do print("wrong: " .. wrong[i]) end
os.exit(#wrong == 0 and 0 or 1)
