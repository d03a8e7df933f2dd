-- A tiny GPT in f64 on the first 90 % of Tiny Shakespeare with weights from a formula: the losses
-- of its first steps must be PyTorch's (made with PyTorch 2.15, CPU). Skips where the text is
-- absent.
local t = require "support.test"
local rille = require "rille"
local nn, optim = rille.nn, rille.optim

local wanted = {
  4.2378731471, 4.1866054331, 4.1808762831, 4.1408222315, 4.1013675082, 4.0897432668, 4.0439465534,
  4.0339414104, 4.0367170585, 3.977065449,
}
local wanted_norms = { 3.55254995, 1.65901524, 1.40151014, 1.4546919, 2.39981364 }
local time, width, heads, layers = 32, 32, 2, 2

local Block = nn.module "Block"

function Block:init()
  self.norm1 = nn.LayerNorm(width)
  self.qkv = nn.Linear(width, 3 * width)
  self.proj = nn.Linear(width, width)
  self.norm2 = nn.LayerNorm(width)
  self.fc = nn.Linear(width, 4 * width)
  self.out = nn.Linear(4 * width, width)
end

function Block:forward(x)
  local b, n, c = x:size()
  local q, k, v = self.qkv(self.norm1(x)):view(b, n, 3, heads, -1):permute(3, 1, 4, 2, 5):unbind(1)
  local y = rille.scaled_dot_product_attention(q, k, v, { causal = true })
  x = x + self.proj(y:transpose(2, 3):reshape(b, n, c))
  return x + self.out(rille.gelu(self.fc(self.norm2(x))))
end

local GPT = nn.module "GPT"

function GPT:init(vocab)
  self.wte = nn.Embedding(vocab, width)
  self.wpe = nn.Embedding(time, width)
  self.blocks = nn.ModuleList()
  for i = 1, layers do self.blocks[i] = Block() end
  self.norm = nn.LayerNorm(width)
  self.head = nn.Linear(width, vocab, { bias = false })
  self.head.weight = self.wte.weight
end

function GPT:forward(ids)
  local x = self.wte(ids) + self.wpe(rille.arange(0, time - 1))
  for _, block in ipairs(self.blocks) do x = block(x) end
  return self.head(self.norm(x))
end

-- Element k of the n-th tensor is 0.05 sin(0.7 k + 1.3 n).
local function fill(model)
  local _ <close> = rille.no_grad()
  local list = { model.wte.weight, model.wpe.weight }
  for _, block in ipairs(model.blocks) do
    for _, name in ipairs { "qkv", "proj", "fc", "out" } do
      list[#list + 1] = block[name].weight
      block[name].bias:zero_()
    end
  end
  for n, p in ipairs(list) do
    local k = rille.arange(0, p:numel() - 1, { dtype = "f64" })
    p:copy_((k * 0.7 + 1.3 * (n - 1)):sin():mul(0.05):view(p:shape()))
  end
end

local function text_path()
  local project = arg[0]:match "^(.*)/tests/" or "."
  local root = os.getenv "RILLE_DATA" or project .. "/../shared/data"
  local path = root .. "/text/tinyshakespeare.txt"
  local file = io.open(path)
  if not file then t.skip("no " .. path) end
  file:close()
  return path
end

local function batch_at(ids, step)
  local xs, ys = {}, {}
  for b = 0, 3 do
    local i = (4 * step + b) * (time + 1)
    xs[b + 1], ys[b + 1] = ids:narrow(1, i + 1, time), ids:narrow(1, i + 2, time)
  end
  return rille.stack(xs, 1), rille.stack(ys, 1)
end

-- Losses and norms of the first steps, with `parts` micro-batches a step.
local function train(steps, parts)
  local ids = rille.data.text(text_path()):split(0.9).ids
  local model = GPT(65):to "f64"
  fill(model)
  local groups = model:parameter_groups { decay = 0.1 }
  local opt = optim.AdamW(groups, { lr = 1e-3, betas = { 0.9, 0.95 } })
  local losses, norms = {}, {}
  for step = 1, steps do
    local x, y = batch_at(ids, step - 1)
    losses[step] = 0
    for part = 1, parts do
      local size = 4 // parts
      local first = (part - 1) * size + 1
      local logits = model(x:narrow(1, first, size)):flatten(1, 2)
      local loss = rille.cross_entropy(logits, y:narrow(1, first, size):flatten()) / parts
      loss:backward()
      losses[step] = losses[step] + loss:item()
    end
    norms[step] = nn.clip_grad_norm_(model:parameters(), 1.0):item()
    opt:step()
    opt:zero_grad()
  end
  return losses, norms, model
end

t.test("the losses and gradient norms of ten steps are PyTorch's", function()
  local losses, norms, model = train(20, 1)
  local count = 0
  for _, p in ipairs(model:parameters()) do count = count + p:numel() end
  t.eq(count, 28576)
  t.near(table.move(losses, 1, 10, 1, {}), wanted, 1e-10)
  t.near(losses[20], 3.7756493754, 1e-10)
  for step = 1, 20 do print(("        loss %d  %a"):format(step, losses[step])) end
  t.near(table.move(norms, 1, 5, 1, {}), wanted_norms, 1e-8)
end)

t.test("two micro-batches give the same", function()
  t.near(train(10, 2), wanted, 1e-10)
end)
