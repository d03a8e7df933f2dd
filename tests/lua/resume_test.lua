-- Runs that are stopped after every step and go on, from every kind of source of batches: the bits
-- of the run in one go.
local t = require "support.test"
local rille = require "rille"
local runs = require "support.runs"
local nn, optim, data = rille.nn, rille.optim, rille.data
local folder, quietly = runs.folder, runs.quietly

local function set()
  local x = rille.arange(1, 14 * 3):to("f32"):view(14, 3):sin()
  return data.table { x = x, y = x:sum(2) }
end

local sources = {}

function sources.loader(split)
  return data.Loader(set(), { batch = 4, shuffle = split == "train" })
end

function sources.weighted()
  return data.Loader(set(), { batch = 4, sampler = data.Weighted({ 1, 2, 3, 4 }, 8) })
end

function sources.windows()
  return data.windows(rille.arange(0, 30), { length = 3, batch = 4 })
end

function sources.random_windows()
  return data.windows(rille.arange(0, 30), { length = 3, batch = 4, shuffle = true })
end

function sources.list()
  local list = {}
  for i = 1, 3 do list[i] = { x = rille.ones(2, 3) * i, y = rille.ones(2) } end
  return list
end

-- Ends after five batches, and shuffles anew each time with the common random numbers.
function sources.endless()
  local n, order = 0, nil
  return function()
    if n % 6 == 0 then order = rille.randperm(5):tolist() end
    n = n + 1
    if n % 6 == 0 then return nil end
    return { x = rille.randn(2, 3) + order[n % 6] + math.random(), y = rille.ones(2) }
  end
end

-- Has no place that could be saved.
function sources.iterable()
  return {
    iter = function(_, epoch)
      local n, shift = 0, rille.rand(1)
      return function()
        n = n + 1
        if n > 4 then return nil end
        return { x = rille.randn(2, 3) + shift + epoch + math.random(), y = rille.ones(2) }
      end
    end,
  }
end

local function recipe(kind, stop)
  return rille.recipe {
    name = "resume", args = { steps = 13 },
    setup = function(self)
      self.model = nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.4), nn.Linear(5, 1))
      self.optimizer = optim.SGD(self.model:parameters(), { lr = 0.01, momentum = 0.9 })
      self.a_schedule = optim.lr.Exponential(self.optimizer, { gamma = 0.9 })
      self.hidden = rille.zeros(1)
    end,
    batches = function(_, _, split) return sources[kind](split) end,
    loss = function(self, batch)
      local y = self.model(batch.x:to "f32" * 0.1):squeeze(2)
      self.hidden = (self.hidden + y:detach():mean()):mul(0.5)
      self.note = { last = self.hidden, text = "new" }
      local goal = batch.y:to "f32" * 0.1
      if goal:dim() == 2 then goal = goal:mean(2) end
      local drift = self.hidden:sum() + 0.1 * math.random()
      return (y - goal):square():mean() + drift * y:mean()
    end,
    accumulate = 2, save = { every = 1, keep = 2, async = stop and stop % 2 == 0 },
    on = {
      step = function(_, _, step)
        if step == stop then error("stop", 0) end
      end,
    },
  }
end

-- The bytes of all that the last checkpoint holds, arguments aside.
local function final(path)
  local saved = rille.load(path .. "/checkpoints/step-13.safetensors")
  t.ok(saved.objects.model["1.weight"]:isfinite():all():item())
  saved.args = nil
  rille.save(path .. "/final", saved)
  local file <close> = io.open(path .. "/final", "rb")
  return file:read "a"
end

for kind in pairs(sources) do
  t.test(kind .. ": stopped after every step, the same run", function()
    local whole <close> = folder()
    local cut <close> = folder()
    t.eq(quietly(recipe(kind), { "--out", whole.path }), 0)
    for stop = 2, 13 do
      local ok, err = pcall(quietly, recipe(kind, stop < 13 and stop),
        { "--out", cut.path, stop > 2 and "--resume" or "--no-force" })
      if stop < 13 then t.eq({ ok, err }, { false, "stop" }) else t.ok(ok, err) end
    end
    t.ok(final(cut.path) == final(whole.path))
  end)
end

-- A file is in the place of the checkpoints' folder from step 4 to step 8: four saves fail.
local function interrupted(path, how)
  local fields = {}
  for name, value in pairs(recipe("loader").fields) do fields[name] = value end
  fields.save = { every = 1, keep = 2, async = how.async, on_error = how.on_error }
  fields.on = {
    step = function(_, _, step)
      local here, away = path .. "/checkpoints", path .. "/away"
      if step == 4 then
        os.rename(here, away)
        io.open(here, "w"):close()
      elseif step == how.back then
        os.remove(here)
        os.rename(away, here)
      end
    end,
  }
  return rille.recipe(fields)
end

for _, async in ipairs { false, true } do
  local name = async and " in the background" or ""
  t.test("saves that fail" .. name .. " are told, and training goes on where it is to", function()
    local whole <close> = folder()
    local out <close> = folder()
    quietly(recipe "loader", { "--out", whole.path })
    local how = { async = async, on_error = "continue", back = 8 }
    local status, said = quietly(interrupted(out.path, how), { "--out", out.path })
    t.eq(status, 0)
    local _, warnings = said:gsub("warning: cannot [^\n]*; training goes on\n", "")
    -- What is still being written when the folder goes or comes back may end either way.
    local slack = async and 1 or 0
    t.ok(warnings >= 4 - slack and warnings <= 4 + slack, warnings)
    t.ok(final(out.path) == final(whole.path))
  end)
  t.test("saves that fail" .. name .. " end the run else, and the last one always does", function()
    local ways = { { async = async, back = 8 }, { async = async, on_error = "continue" } }
    for _, how in ipairs(ways) do
      local out <close> = folder()
      local ok, err = pcall(quietly, interrupted(out.path, how), { "--out", out.path })
      t.eq({ ok, err.code }, { false, "E_IO" })
    end
  end)
end

t.test("an epoch that ended is not begun again", function()
  local loader = data.Loader(set(), { batch = 5, shuffle = true, seed = 1 })
  for _ in loader do end -- luacheck: ignore
  local other = data.Loader(set(), { batch = 5, shuffle = true, seed = 2 })
  other:load_state(loader:state())
  t.eq(other:iter()().x, loader:iter(2)().x)
  local shorter = data.Loader(set(), { batch = 4 })
  t.error_like(function() shorter:load_state(loader:state()) end, { message = "batch = 5" })
end)

t.test("items leave math.random alone", function()
  local function drawn(workers)
    math.randomseed(4)
    local loader <close> = data.Loader({ 1, 2, 3, 4 }, {
      batch = 2, workers = workers, transform = function(x) return x + math.random() end,
    })
    local list = {}
    for _ in loader do list[#list + 1] = math.random() end
    return list
  end
  t.eq(drawn(0), drawn(2))
end)
