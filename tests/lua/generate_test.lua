-- rille.generate on a model whose next id is known: one more than the last, of seven.
local t = require "support.test"
local rille = require "rille"
local nn = rille.nn

local Counter = nn.module "Counter"

function Counter:init(sharpness)
  self.table = nn.Embedding(7, 7)
  local rows = {}
  for id = 0, 6 do
    rows[id + 1] = {}
    for column = 0, 6 do rows[id + 1][column + 1] = column == (id + 1) % 7 and sharpness or 0.0 end
  end
  self.table:load_state_dict { weight = rille.tensor(rows) }
end

function Counter:forward(ids)
  self.longest = math.max(self.longest or 0, (ids:size(2)))
  self.was_training = self.training
  return self.table(ids)
end

t.test("the most likely ids follow the start", function()
  local model = Counter(9)
  t.eq(rille.generate(model, { tokens = 4, temperature = 0 }), { 0, 1, 2, 3, 4 })
  t.eq(rille.generate(model, { tokens = 3, temperature = 0, start = { 5 } }), { 5, 6, 0, 1 })
  local start = rille.tensor({ { 1, 2 }, { 4, 5 } }, { dtype = "i64" })
  t.eq(rille.generate(model, { tokens = 2, temperature = 0, start = start }),
    { { 1, 2, 3, 4 }, { 4, 5, 6, 0 } })
end)

t.test("the model sees at most its context, in eval mode, and is left as it was", function()
  local model = Counter(9)
  rille.generate(model, { tokens = 9, temperature = 0, context = 3 })
  t.eq(model.longest, 3)
  t.eq(model.was_training, false)
  t.eq(model.training, true)
  t.eq(rille.is_grad_enabled(), true)
end)

t.test("a seed repeats a sample; top_k = 1 and a sharp model leave no choice", function()
  local model = Counter(1)
  local function sample(seed)
    return rille.generate(model, { tokens = 40, seed = seed }):tolist()
  end
  t.eq(sample(3), sample(3))
  t.ok(table.concat(sample(3)) ~= table.concat(sample(4)))
  t.eq(rille.generate(model, { tokens = 3, top_k = 1 }), { 0, 1, 2, 3 })
  t.eq(rille.generate(Counter(1000), { tokens = 3 }), { 0, 1, 2, 3 })
end)

t.test("samples follow the distribution", function()
  rille.seed(1)
  local model, right = Counter(math.log(6)), 0           -- the next id has probability 6 / 12
  local ids = rille.generate(model, { tokens = 2000 }):tolist()
  for i = 2, #ids do
    if ids[i] == (ids[i - 1] + 1) % 7 then right = right + 1 end
  end
  t.ok(math.abs(right - 1000) < 100, right)
end)
