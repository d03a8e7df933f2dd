-- A small GPT learns to add numbers of up to three digits from sums that it makes up itself, and
-- then answers a thousand sums that it was never shown. About a minute on two cores.   rille run
-- adder.lua   rille run adder.lua --steps 300 --width 32 A sum is twelve symbols, "012+345=7530":
-- the answer is written from its last digit on, because that is the order in which carries are
-- found.
local rille = require "rille"
local nn, optim = rille.nn, rille.optim

local symbols = { [0] = "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+", "=" }
local prompt, length = 8, 12            -- symbols of a question, and with its answer

-- True for the thousand pairs that are kept back: those with the lowest value of a fixed hash.
local function is_held(a, b)
  return ((a * 1000 + b) * 2654435761 % (1 << 32)):lt((1 << 32) // 1000)
end

-- [n] and [n] numbers -> [n, 12] ids
local function encode(a, b)
  local function digit(x, place) return x // place % 10 end
  local function sign(id) return rille.full_like(a, id) end
  local sum = a + b
  return rille.stack({
    digit(a, 100), digit(a, 10), digit(a, 1), sign(10),
    digit(b, 100), digit(b, 10), digit(b, 1), sign(11),
    digit(sum, 1), digit(sum, 10), digit(sum, 100), digit(sum, 1000),
  }, 2)
end

local Block = nn.module "Block"

function Block:init(width, heads)
  self.heads = heads
  self.norm1 = nn.LayerNorm(width)
  self.qkv = nn.Linear(width, 3 * width)
  self.out = nn.Linear(width, width)
  self.norm2 = nn.LayerNorm(width)
  self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
end

function Block:forward(x)                                -- [batch, time, width]
  local b, t, c = x:size()
  local qkv = self.qkv(self.norm1(x)):view(b, t, 3, self.heads, -1)
  local q, k, v = qkv:permute(3, 1, 4, 2, 5):unbind(1)
  local y = rille.scaled_dot_product_attention(q, k, v, { causal = true })
  x = x + self.out(y:transpose(2, 3):reshape(b, t, c))
  return x + self.mlp(self.norm2(x))
end

local Adder = nn.module "Adder"

function Adder:init(o)
  self.symbols = nn.Embedding(#symbols + 1, o.width)
  self.places = nn.Embedding(length, o.width)
  self.blocks = nn.Sequential()
  for _ = 1, o.layers do self.blocks:append(Block(o.width, o.heads)) end
  self.norm = nn.LayerNorm(o.width)
  self.head = nn.Linear(o.width, #symbols + 1, { bias = false })
  for _, p in self:named_parameters() do
    if p:dim() >= 2 then nn.init.normal_(p, 0, 0.08) end
  end
end

function Adder:forward(ids)                              -- [batch, time] -> [batch, time, symbols]
  local _, t = ids:size()
  local x = self.symbols(ids) + self.places(rille.arange(0, t - 1, { device = ids.device }))
  return self.head(self.norm(self.blocks(x)))
end

local function random_sums(n)
  local a, b = rille.randint(0, 999, { n }), rille.randint(0, 999, { n })
  return encode(a, b)[is_held(a, b):logical_not()]
end

local function held_sums()
  local all = rille.arange(0, 999999)
  local a, b = all // 1000, all % 1000
  local held = is_held(a, b)
  return encode(a[held], b[held])
end

local function show(ids)
  local text = {}
  for i, id in ipairs(ids) do text[i] = symbols[id] end
  local a, b, answer = table.concat(text):match "(...)%+(...)=(.*)"
  local function number(digits) return math.tointeger(tonumber(digits)) or digits end
  return ("%s + %s = %s"):format(number(a), number(b), number(answer:reverse()))
end

return rille.recipe {
  name = "adder",
  args = { layers = 2, heads = 4, width = 64, batch = 256, lr = 3e-3, steps = 800, seed = 1 },
  setup = function(self, args)
    self.held = held_sums()
    self.model = Adder(args)
    self.optimizer = optim.AdamW(self.model:parameter_groups { decay = 0.1 },
      { lr = args.lr, betas = { 0.9, 0.99 } })
    self.schedule = optim.warmup_cosine(self.optimizer,
      { warmup = args.steps // 10, steps = args.steps, min_lr = args.lr / 10 })
  end,
  batches = function(self, args, split)
    if split == "val" then return { self.held } end
    return function() return random_sums(args.batch) end
  end,
  loss = function(self, ids)                             -- only the answer counts
    local logits = self.model(ids:narrow(2, 1, length - 1)):narrow(2, prompt, length - prompt)
    local answers = ids:narrow(2, prompt + 1, length - prompt)
    return rille.cross_entropy(logits:flatten(1, 2), answers:flatten())
  end,
  sample = function(self)                                -- shown after each evaluation
    local held = self.held:to(self.model.device)
    local start = held:narrow(2, 1, prompt)
    local ids = rille.generate(self.model,
      { tokens = length - prompt, start = start, temperature = 0 })
    local right = ids:eq(held):all(2)
    local share = 100 * right:to("f32"):mean():item()
    local lines = { ("%.1f %% of %d unseen sums right"):format(share, #held) }
    for i = 97, 970, 97 do
      lines[#lines + 1] = "  " .. show(ids[i]:tolist()) .. (right[i]:item() and "" or "  wrong")
    end
    return table.concat(lines, "\n")
  end,
  clip = 1.0, evaluate = { every = 200, batches = 1 },
}
