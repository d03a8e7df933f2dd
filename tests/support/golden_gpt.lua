-- A tiny GPT in f64 on the first 90 % of a text, with weights from a formula: a training run that
-- depends on no random numbers. Losses are known from PyTorch, and C++ hosts must get the same.
local rille = require "rille"
local nn, optim = rille.nn, rille.optim

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

local function batch_at(ids, step)
  local xs, ys = {}, {}
  for b = 0, 3 do
    local i = (4 * step + b) * (time + 1)
    xs[b + 1], ys[b + 1] = ids:narrow(1, i + 1, time), ids:narrow(1, i + 2, time)
  end
  return rille.stack(xs, 1), rille.stack(ys, 1)
end

-- Losses and norms of the first steps on the text of a file, with `parts` micro-batches a step, and
-- the model's blocks as checkpoint blocks where that is wanted.
local function train(path, steps, parts, checkpointed)
  local ids = rille.data.text(path):split(0.9).ids
  local model = GPT(65):to "f64"
  fill(model)
  for _, block in ipairs(checkpointed and model.blocks or {}) do nn.Checkpoint(block) end
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

return { train = train }
