-- Checkpoints that read well and hold what no run wrote: each is passed over with a reason, for the
-- one before; with none left the run ends with status 4.
local t = require "support.test"
local rille = require "rille"
local native = require "rille.native"
local runs = require "support.runs"
local nn, optim, data = rille.nn, rille.optim, rille.data
local folder, quietly = runs.folder, runs.quietly

local function recipe(batches)
  return rille.recipe {
    name = "faults", args = { steps = 4 },
    setup = function(self)
      self.model = nn.Linear(3, 1)
      self.optimizer = optim.AdamW(self.model:parameters(), { lr = 0.01 })
      self.schedule = optim.lr.Exponential(self.optimizer, { gamma = 0.9 })
      self.noise = rille.generator(3)
      self.mean = rille.ones(2)
    end,
    batches = batches or function()
      return data.Loader(data.table { x = rille.ones(6, 3) }, { batch = 2 })
    end,
    loss = function(self, batch)
      self.mean:mul_(0.5)
      return self.model(batch.x):square():mean()
    end,
    save = { every = 2, keep = 2 },
  }
end

local function step(path, n)
  return ("%s/checkpoints/step-%d.safetensors"):format(path, n)
end

-- Puts a value at a dotted place of a table.
local function put(root, place, value)
  local names = {}
  for name in place:gmatch "[^.]+" do names[#names + 1] = name end
  for i = 1, #names - 1 do root = root[names[i]] end
  root[names[#names]] = value
end

local forged = {
  { "step", -3, "its 'step' is -3" },
  { "step", "abc", "its 'step' is 'abc'" },
  { "objects.schedule.step", -3, "its 'objects.schedule.step' is -3" },
  { "objects.schedule.step", "x", "its 'objects.schedule.step' is 'x'" },
  { "objects.optimizer.step_count", -1, "its 'objects.optimizer.step_count' is -1" },
  { "objects.optimizer.groups", 3, "its 'objects.optimizer.groups' is 3" },
  { "objects.model", 3, "its 'objects' is not what it should be" },
  { "random.rille.next", -5, "its 'random' is not what it should be" },
  { "random.lua", { 1 }, "its 'random' is not what it should be" },
  { "generators.noise.next", -5, "its 'generators' is not what it should be" },
  { "stream.batches", -1, "its 'stream.batches' is -1" },
  { "stream.batches", 100000, "it stands at batch 100000 of an epoch, which has 3" },
  { "stream.batches", {}, "its 'stream.batches' is not what it should be" },
  { "stream.source.batches", -1, "its 'stream.source.batches' is -1" },
  { "stream.source.batches", 100000, "it stands at batch 100000 of an epoch, which has 3" },
  { "stream.source.epoch", {}, "its 'stream.source.epoch' is not what it should be" },
  { "stream.epoch_random", 3, "its 'stream.epoch_random' is 3" },
  { "modes", { model = 3 }, "its 'modes' is not what it should be" },
  { "args", 3, "its 'args' is 3" },
  { "args.set", 3, "its 'args' is not what it should be" },
  { "fields", 3, "its 'fields' is 3" },
  { "skipped", -1, "its 'skipped' is -1" },
}

for _, case in ipairs(forged) do
  local place, value, reason = table.unpack(case)
  t.test(("%s = %s"):format(place, native.json_encode { value }), function()
    local out <close> = folder()
    quietly(recipe(), { "--out", out.path })
    local file = step(out.path, 4)
    local saved = rille.load(file)
    put(saved, place, value)
    rille.save(file, saved)
    t.error_like(function() quietly(recipe(), { "--resume", file }) end,
      { status = "4", message = reason })
    local status, said = quietly(recipe(), { "--out", out.path, "--resume" })
    t.eq(status, 0)
    t.ok(said:find("resume: '" .. file .. "': " .. reason, 1, true), said)
    t.ok(said:find("resumed at step 2", 1, true), said)
  end)
end

t.test("a place behind the end of a list", function()
  local batch = { x = rille.ones(2, 3) }
  local function list() return { batch, batch, batch } end
  local out <close> = folder()
  quietly(recipe(list), { "--out", out.path, "--steps", "2" })
  local shorter = function() return { batch } end
  t.error_like(function() quietly(recipe(shorter), { "--out", out.path, "--resume" }) end,
    { status = "4", message = "no usable checkpoint" })
  t.ok(native.exists(step(out.path, 2)))                 -- the file is not to blame
end)

-- A source of the user's own, whose length can't be asked.
t.test("a source with a state and no length goes on", function()
  local function source()
    local place = { batches = 0 }
    return {
      state = function() return { batches = place.batches } end,
      load_state = function(_, saved) place.batches = saved.batches end,
      iter = function()
        return function()
          place.batches = place.batches + 1
          return { x = rille.ones(2, 3) }
        end
      end,
    }
  end
  local out <close> = folder()
  quietly(recipe(source), { "--out", out.path })
  local status, said = quietly(recipe(source), { "--out", out.path, "--resume", "--steps", "5" })
  t.eq(status, 0)
  t.ok(said:find("resumed at step 4", 1, true), said)
end)

t.test("a checkpoint of another version is passed over and stays", function()
  local out <close> = folder()
  quietly(recipe(), { "--out", out.path })
  local file = step(out.path, 4)
  local saved = rille.load(file)
  saved.format = 2
  rille.save(file, saved)
  local _, said = quietly(recipe(), { "--out", out.path, "--resume", "--steps", "3" })
  t.ok(said:find("its format is 2, not 3", 1, true), said)
  t.ok(native.exists(file))
end)

t.test("values of self that don't fit, and states that an object can't read", function()
  local out <close> = folder()
  quietly(recipe(), { "--out", out.path })
  local file = step(out.path, 4)
  local saved = rille.load(file)
  saved.fields.mean.changed = rille.ones(3)
  rille.save(file, saved)
  local err = t.error_like(function() quietly(recipe(), { "--resume", file }) end,
    { code = "E_STATE", message = "the checkpoint is of another recipe" })
  t.eq(err.facts, { "self.mean is no tensor of the saved shape and dtype" })
  saved.fields.mean = nil
  saved.objects.optimizer.groups, saved.objects.optimizer.state = { { lr = "x" } }, {}
  saved.objects.schedule = { step = 2, other = "x" }
  saved.objects.optimizer.kind = "Adamant"
  rille.save(file, saved)
  t.error_like(function() quietly(recipe(), { "--resume", file }) end,
    { code = "E_STATE", message = "the state is of Adamant" })
end)
