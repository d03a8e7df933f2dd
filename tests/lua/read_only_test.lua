-- Module tables refuse assignments, work as before otherwise, and reach workers by their names.
local t = require "support.test"
local rille = require "rille"

local function refuses(title, name, f)
  t.error_like(f, { code = "E_ARG", op = title,
    message = ("'%s' can't be set: this table is read-only"):format(name) })
end

t.test("names that are there can't be set", function()
  local nn, optim, data = rille.nn, rille.optim, rille.data
  refuses("rille.nn", "Linear", function() nn.Linear = 1 end)
  refuses("rille.nn.init", "normal_", function() nn.init.normal_ = 1 end)
  refuses("rille.nn.utils", "clip_grad_norm_", function() nn.utils.clip_grad_norm_ = 1 end)
  refuses("rille.optim", "SGD", function() optim.SGD = 1 end)
  refuses("rille.optim.lr", "Cosine", function() optim.lr.Cosine = 1 end)
  refuses("rille.data", "Loader", function() data.Loader = 1 end)
  refuses("rille.data.transforms", "compose", function() data.transforms.compose = 1 end)
  refuses("rille.memory", "peak", function() rille.memory.peak = 1 end)
  refuses("rille.io", "npy", function() rille.io.npy = 1 end)
  refuses("rille.debugging", "gradcheck", function() rille.debugging.gradcheck = 1 end)
  refuses("rille.profile", "time", function() rille.profile.time = 1 end)
  refuses("rille.progress", "note", function() rille.progress.note = 1 end)
end)

t.test("nor can new ones", function()
  refuses("rille", "mine", function() rille.mine = 1 end)
  refuses("rille.nn", "Mine", function() rille.nn.Mine = 1 end)
  refuses("rille.nn.init", "mine_", function() rille.nn.init.mine_ = 1 end)
  refuses("rille.memory", "mine", function() rille.memory.mine = 1 end)
end)

t.test("they are read as before", function()
  t.ok(math.type(rille.memory.peak()) == "integer")
  local names = {}
  for name in pairs(rille.nn.init) do names[name] = true end
  t.ok(names.normal_ and names.orthogonal_)
  local count = 0
  for _ in rille.progress(3, "rounds") do count = count + 1 end
  t.eq(count, 3)
  t.eq(tostring(rille.debugging), "rille.debugging")
end)

t.test("their functions and they themselves go to workers by name", function()
  local flip, transforms = rille.data.transforms.random_flip, rille.data.transforms
  local set = rille.data.table { x = rille.ones(4, 1, 2, 2) }
  local loader = rille.data.Loader(set, {
    batch = 2, workers = 1,
    transform = function(item)
      local same = flip == transforms.random_flip and flip == rille.data.transforms.random_flip
      return { x = item.x * (same and 2 or 0) }
    end,
  })
  for batch in loader do t.eq(batch.x:sum():item(), 2 * 4 * 2) end
end)

t.test("rille.pairs goes in the order of the keys", function()
  local list, given = {}, { c = 3, [2] = "two", [1.5] = "one and a half", a = 1, [true] = 0 }
  given[-1] = 9
  for k, v in rille.pairs(given) do
    list[#list + 1] = tostring(k) .. "=" .. v
  end
  t.eq(list, { "-1=9", "1.5=one and a half", "2=two", "a=1", "c=3", "true=0" })
  local removed, seen = { a = 1, b = 2, c = 3 }, {}
  for k in rille.pairs(removed) do
    removed.b = nil
    seen[#seen + 1] = k
  end
  t.eq(seen, { "a", "c" })
  local names = {}
  for name in rille.pairs(rille.profile) do names[#names + 1] = name end
  t.eq(names, { "time" })
  t.error_like(function() rille.pairs { [{}] = 1 } end, { op = "pairs", message = "has no order" })
  t.error_like(function() rille.pairs(3) end,
    { op = "pairs", message = "'t' must be a table, got 3" })
end)
