-- A GPT over characters, as a declared recipe: the engine supplies the loop, the progress bar,
-- evaluation, run folder, checkpoints and exact resume, mixed precision, clipping and accumulation.
--   rille run char_gpt.lua --text input.txt
--   rille run char_gpt.lua --text input.txt --amp bf16
--   rille run char_gpt.lua --text input.txt --amp bf16 --resume
local rille = require "rille"
local nn, optim, data = rille.nn, rille.optim, rille.data

local Attention = nn.module "Attention"

function Attention:init(width, heads, dropout)
  self.heads = heads
  self.dropout = dropout
  self.qkv = nn.Linear(width, 3 * width, { bias = false })
  self.out = nn.Linear(width, width, { bias = false })
end

function Attention:forward(x)                            -- [batch, time, width]
  local b, t, c = x:size()
  local q, k, v = self.qkv(x):view(b, t, 3, self.heads, -1):permute(3, 1, 4, 2, 5):unbind(1)
  local dropout = self.training and self.dropout or 0
  local y = rille.scaled_dot_product_attention(q, k, v, { causal = true, dropout = dropout })
  return self.out(y:transpose(2, 3):reshape(b, t, c))
end

local Block = nn.module "Block"

function Block:init(width, heads, dropout)
  self.norm1 = nn.LayerNorm(width, { bias = false })
  self.attention = Attention(width, heads, dropout)
  self.norm2 = nn.LayerNorm(width, { bias = false })
  self.mlp = nn.Sequential(nn.Linear(width, 4 * width, { bias = false }), nn.GELU(),
    nn.Linear(4 * width, width, { bias = false }), nn.Dropout(dropout))
end

function Block:forward(x)
  x = x + self.attention(self.norm1(x))
  return x + self.mlp(self.norm2(x))
end

local GPT = nn.module "GPT"

function GPT:init(vocab, o)
  self.tokens = nn.Embedding(vocab, o.width)
  self.places = nn.Embedding(o.context, o.width)
  self.blocks = nn.ModuleList()
  for i = 1, o.layers do self.blocks[i] = Block(o.width, o.heads, o.dropout) end
  self.norm = nn.LayerNorm(o.width, { bias = false })
  self.head = nn.Linear(o.width, vocab, { bias = false })
  self.head.weight = self.tokens.weight                  -- tied: one parameter, saved once
  for name, p in self:named_parameters() do              -- GPT-2's; smaller on the residual paths
    local residual = name:match "attention%.out" or name:match "mlp%.3"
    if p:dim() >= 2 then nn.init.normal_(p, 0, residual and 0.02 / (2 * o.layers) ^ 0.5 or 0.02) end
  end
end

function GPT:forward(ids)                             -- [batch, time] i64 -> [batch, time, vocab]
  local _, t = ids:size()
  local x = self.tokens(ids) + self.places(rille.arange(0, t - 1, { device = ids.device }))
  for _, block in ipairs(self.blocks) do x = block(x) end
  return self.head(self.norm(x))
end

return rille.recipe {
  name = "char_gpt",
  args = {
    text = { type = "path", required = true, help = "a text file to learn" },
    layers = 4, heads = 4, width = 128, context = 64, batch = 12, dropout = 0.0,
    lr = 1e-3, min_lr = 1e-4, warmup = 100, steps = 2000, seed = 1337,
  },
  setup = function(self, args)
    local text = data.text(args.text)                    -- ids 0..vocab-1 by character
    self.text = text
    self.train, self.val = text:split(0.9)
    self.model = GPT(text.vocab, args)
    self.optimizer = optim.AdamW(self.model:parameter_groups { decay = 0.1 },
      { lr = args.lr, betas = { 0.9, 0.99 } })
    self.schedule = optim.warmup_cosine(self.optimizer,
      { warmup = args.warmup, steps = args.steps, min_lr = args.min_lr })
  end,
  batches = function(self, args, split)            -- an endless stream of random windows, resumable
    return data.windows(self[split], { length = args.context, batch = args.batch, shuffle = true })
  end,
  loss = function(self, batch)
    return rille.cross_entropy(self.model(batch.x):flatten(1, 2), batch.y:flatten())
  end,
  sample = function(self)                                -- shown after each evaluation
    local ids = rille.generate(self.model, { tokens = 200, context = self.args.context })
    return self.text:decode(ids)
  end,
  clip = 1.0, evaluate = { every = 250, batches = 20 }, save = { every = 500, keep = 3 },
}
