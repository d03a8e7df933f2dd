-- What a recipe keeps in `self` and in tables there: a run that is stopped after every step ends
-- with the bits of the run in one go, and what can't be kept is an error.
local t = require "support.test"
local rille = require "rille"
local runs = require "support.runs"
local nn, optim = rille.nn, rille.optim
local folder, quietly = runs.folder, runs.quietly

local last = 6

-- Two networks and their optimizers in tables, one of them held twice, in a table that holds
-- itself; parameters, counts and means in plain values that are changed where they are.
local function setup(self)
  self.nets = { g = nn.Linear(3, 4), inner = { nn.BatchNorm1d(4), nn.Dropout(0.3) }, used = 0 }
  self.nets.twice, self.nets.itself = self.nets.g, self.nets
  self.scale = rille.ones(4, { requires_grad = true })
  local first = self.nets.g:parameters()
  first[#first + 1] = self.scale
  self.optimizer = optim.SGD(first, { lr = 0.05, momentum = 0.9 })
  self.others = { norm = optim.Adam(self.nets.inner[1]:parameters(), { lr = 0.01 }) }
  self.draws = { rille.generator(4) }
  self.mean, self.stats = rille.ones(2), { n = 0, gone = 1, sum = rille.zeros(1) }
  self.also = self.stats
  self.note = "there"
  self.state = { [0] = 0, by = { [-3] = "x", [2.5] = true, ["a.b"] = 1 }, list = {} }
end

local function loss(self, batch)
  local nets, norm = self.nets, self.nets.inner[1]
  local noise = rille.full({ 4 }, 1.0):bernoulli(0.8, { generator = self.draws[1] })
  local y = nets.inner[2](norm(nets.g(batch.x))) * self.scale * noise
  self.mean:mul_(0.5):add_(y:detach():mean())
  self.stats.n, self.stats.gone, self.note = self.stats.n + 1, nil, nil
  self.stats.sum:add_(self.mean:sum())
  self.carry = { [3] = self.also.n, [7] = self.mean:clone() }
  self.state[0] = self.state[0] + self.carry[3]
  self.state.by[self.state[0]] = self.stats.sum:clone()
  self.state.list[#self.state.list + 1] = self.state[0]
  nets.used = nets.used + 1
  return (y - self.also.sum * 0.01):square():mean() + 0.001 * #self.state.list
end

local function recipe(stop)
  return rille.recipe {
    name = "kept", args = { steps = last },
    setup = setup, loss = loss,
    batches = function()
      return function() return { x = rille.randn(5, 3) } end
    end,
    save = { every = 1, keep = 2 },
    on = {
      step = function(self, _, step)
        self.others.norm:step()
        self.others.norm:zero_grad()
        if step == stop then error("stop", 0) end
      end,
    },
  }
end

local function final(path)
  local saved = rille.load(("%s/checkpoints/step-%d.safetensors"):format(path, last))
  saved.args = nil
  rille.save(path .. "/final", saved)
  local file <close> = io.open(path .. "/final", "rb")
  return file:read "a", saved
end

t.test("what tables in self hold goes on bit for bit", function()
  local whole <close> = folder()
  local cut <close> = folder()
  t.eq(quietly(recipe(), { "--out", whole.path }), 0)
  for stop = 2, last do
    local ok, err = pcall(quietly, recipe(stop < last and stop),
      { "--out", cut.path, stop > 2 and "--resume" or "--no-force" })
    if stop < last then t.eq({ ok, err }, { false, "stop" }) else t.ok(ok, err) end
  end
  local bytes, saved = final(whole.path)
  t.ok(bytes == final(cut.path))
  local names = {}
  for name in pairs(saved.objects) do names[#names + 1] = name end
  table.sort(names)
  t.eq(names, { "nets.g", "nets.inner.1", "nets.inner.2", "optimizer", "others.norm" })
  t.ok(saved.generators["draws.1"])
  t.eq(saved.fields.note, { removed = true })
  t.ok(saved.objects["nets.inner.1"].running_mean:abs():sum():item() > 0)
end)

t.test("evaluation puts modules in tables into eval mode, and back", function()
  local modes = {}
  local r = rille.recipe {
    name = "modes", args = { steps = 2 },
    setup = function(self)
      self.nets = { { part = nn.Linear(2, 1) } }
      self.optimizer = optim.SGD(self.nets[1].part:parameters(), { lr = 0.1 })
    end,
    batches = function() return { rille.ones(2, 2) } end,
    loss = function(self, x)
      modes[#modes + 1] = self.nets[1].part.training
      return self.nets[1].part(x):mean()
    end,
    evaluate = { every = 1, batches = 1 },
  }
  local out <close> = folder()
  quietly(r, { "--out", out.path })
  t.eq(modes, { true, false, true, false })
end)

-- The same recipe with something else at its end of setup, or in its loss.
local function with(after, during)
  local fields = {}
  for name, value in pairs(recipe().fields) do fields[name] = value end
  fields.setup = function(self)
    setup(self)
    if after then after(self) end
  end
  fields.loss = function(self, batch)
    if during then during(self) end
    return loss(self, batch)
  end
  return function()
    local out <close> = folder()
    quietly(rille.recipe(fields), { "--out", out.path })
  end
end

t.test("an optimizer of parameters that nothing saves is an error", function()
  local err = t.error_like(with(function(self)
    self.extra = optim.SGD(nn.Linear(2, 3):parameters(), { lr = 0.1 })
  end), { code = "E_STATE", message = "parameters that belong to nothing in 'self'" })
  t.eq(#err.facts, 2)
  t.ok(err.facts[1]:find("f32[3, 2]", 1, true), err.facts[1])
end)

t.test("what can't be saved is an error after the first step", function()
  local function refused(fact, ...)
    local err = t.error_like(with(...),
      { code = "E_STATE", message = "'self' was given what no checkpoint can hold" })
    t.eq(err.facts, { fact })
  end
  refused("self.state.f is a function", function(self) self.state.f = print end)
  refused("self.made is a function", nil, function(self) self.made = print end)
  refused("self.box.co is a thread", function(self) self.box = {} end, function(self)
    self.box.co = coroutine.create(print)
  end)
  refused("self.made.1 is a table that holds itself", nil, function(self)
    self.made = {}
    self.made[1] = self.made
  end)
  refused("self.made has a table as a key", nil, function(self) self.made = { [{}] = 1 } end)
end)

t.test("functions and objects that setup made may stay", function()
  with(function(self)
    self.act, self.stats.act, self.stats[self.stats] = print, print, print
    self.set = rille.data.table { x = rille.ones(3) }
  end)()
end)
