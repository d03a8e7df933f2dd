-- Recipes: flags, the run folder, evaluation that leaves training alone, exact resume.
local t = require "support.test"
local rille = require "rille"
local native = require "rille.native"
local runs = require "support.runs"
local nn, optim, data = rille.nn, rille.optim, rille.data
local folder, quietly = runs.folder, runs.quietly

-- A line through noisy points: x and noise come from the generator, dropout too.
local function recipe(changes)
  local fields = {
    name = "line",
    args = { steps = 20, lr = 0.05, batch = 8 },
    setup = function(self, args)
      self.model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))
      self.optimizer = optim.AdamW(self.model:parameters(), { lr = args.lr })
      self.schedule = optim.lr.Cosine(self.optimizer, { steps = args.steps })
    end,
    batches = function(_, args, split)
      local x = rille.arange(1, 32 * 4):to("f32"):view(32, 4):sin()
      local set = data.table { x = x, y = x:sum(2) }
      return data.Loader(set, { batch = args.batch, shuffle = split == "train", seed = 3 })
    end,
    loss = function(self, batch)
      return rille.mse_loss(self.model(batch.x):squeeze(2), batch.y)
    end,
    evaluate = { every = 5, batches = 4 }, save = { every = 6, keep = 2 }, log = { every = 1 },
  }
  for name, value in pairs(changes or {}) do fields[name] = value end
  return rille.recipe(fields)
end

local function metrics(path)
  local list = {}
  for line in io.lines(path .. "/metrics.jsonl") do list[#list + 1] = native.json_decode(line) end
  return list
end

local function checkpoints(path)
  local names = {}
  for _, name in ipairs(native.list(path .. "/checkpoints")) do
    if name:match "%.safetensors$" then names[#names + 1] = name end
  end
  return names
end

local function weights(path, step)
  local name = ("%s/checkpoints/step-%d.safetensors"):format(path, step)
  local saved = rille.load(name)
  return saved.objects.model["1.weight"]:tolist(), saved
end

t.test("a run writes its folder", function()
  local out <close> = folder()
  t.eq(quietly(recipe(), { "--out", out.path }), 0)
  local list = metrics(out.path)
  t.eq(list[1].step, 1)
  t.ok(list[1].loss and list[1].lr and list[1].step_ms and list[1].samples_per_s)
  local config = native.json_decode(io.open(out.path .. "/config.json"):read "a")
  t.eq(config.args.lr, 0.05)
  t.eq(checkpoints(out.path),
    { "last.safetensors", "step-18.safetensors", "step-20.safetensors" })
  local evaluations = 0
  for _, line in ipairs(list) do
    if line.val_loss then evaluations = evaluations + 1 end
  end
  t.eq(evaluations, 4)
end)

t.test("the line of progress tells loss, rate, speed, memory and time", function()
  local out <close> = folder()
  local _, said = quietly(recipe(), { "--out", out.path })
  local speed, memory = said:match(
    "line  20/20  (%S+) ex/s  0:0%d  loss %S+  lr %S+  memory (%d+) MiB  val_loss %S+\n")
  t.ok(speed and memory, said)
end)

t.test("a run that went on is bit for bit the run in one go", function()
  local whole <close> = folder()
  local cut <close> = folder()
  quietly(recipe(), { "--out", whole.path })
  for _, stop in ipairs { 7, 12, 20 } do
    local words = { "--out", cut.path, "--set", "save.keep=9" }
    -- The schedule needs the whole length, so the run is stopped by an error in its step hook.
    local stopping = recipe { on = { step = function(_, _, step)
      if step == stop and stop < 20 then error "stop" end
    end }, save = { every = 1, keep = 30 } }
    if stop > 7 then words[#words + 1] = "--resume" end
    pcall(quietly, stopping, words)
  end
  t.eq((weights(cut.path, 20)), (weights(whole.path, 20)))
  local one, other = metrics(whole.path), metrics(cut.path)
  t.eq(#other, #one)
  for i, line in ipairs(one) do
    local got = { other[i].step, other[i].loss, other[i].val_loss }
    t.eq(got, { line.step, line.loss, line.val_loss })
  end
end)

t.test("evaluation leaves training as it is", function()
  local with <close> = folder()
  local without <close> = folder()
  quietly(recipe(), { "--out", with.path })
  quietly(recipe { evaluate = { every = 1000, batches = 1 } }, { "--out", without.path })
  t.eq((weights(with.path, 20)), (weights(without.path, 20)))
end)

t.test("accumulating two halves is one batch, without dropout", function()
  local one <close> = folder()
  local two <close> = folder()
  local plain = function(self, batch)
    self.model:eval()
    return rille.mse_loss(self.model(batch.x):squeeze(2), batch.y)
  end
  quietly(recipe { loss = plain }, { "--out", one.path, "--batch", "8", "--steps", "4" })
  quietly(recipe { loss = plain }, { "--out", two.path, "--batch", "4", "--steps", "4",
    "--accumulate", "2" })
  t.near((weights(two.path, 4)), (weights(one.path, 4)), 1e-6)
end)

t.test("a broken newest checkpoint is passed over", function()
  local out <close> = folder()
  quietly(recipe(), { "--out", out.path })
  native.write_file(out.path .. "/checkpoints/step-20.safetensors", "torn")
  t.eq(quietly(recipe(), { "--out", out.path, "--resume" }), 0)
  t.error_like(function() quietly(recipe(), { "--resume", out.path .. "-none" }) end,
    { status = "4" })
end)

t.test("--fast-dev-run, --eval-only, --overfit-batches", function()
  t.eq(quietly(recipe(), { "--fast-dev-run" }), 0)
  t.eq(quietly(recipe(), { "--eval-only" }), 0)
  local out <close> = folder()
  quietly(recipe(), { "--out", out.path, "--overfit-batches", "1", "--steps", "200" })
  local list = metrics(out.path)
  t.ok(list[#list].val_loss < 0.5 * list[1].loss)
end)

t.test("--set changes a field by its dotted name", function()
  local out <close> = folder()
  quietly(recipe(), { "--out", out.path, "--set", "save.every=5", "--set=save.keep=9" })
  t.eq(#checkpoints(out.path), 5)
  t.error_like(function() quietly(recipe(), { "--set", "save.evry=5" }) end,
    { message = "did you mean 'every'" })
end)

t.test("unknown fields and flags name the nearest", function()
  t.error_like(function() rille.recipe { nmae = "x" } end, { message = "did you mean 'name'" })
  t.error_like(function() rille.recipe { name = "x" } end, { message = "'setup' is missing" })
  t.error_like(function() quietly(recipe(), { "--stesp", "3" }) end,
    { message = "did you mean '--steps'" })
  t.error_like(function() return rille.recipy end, { message = "did you mean 'recipe'" })
end)
