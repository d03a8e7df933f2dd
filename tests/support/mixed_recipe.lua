-- A recipe with something of everything whose sums are shared out among threads: convolution,
-- attention, embedding, dropout, normalisation, loaders with workers, clipping, AdamW. What it has
-- learnt is in weights.safetensors: names and tensors, no dates.
local rille = require "rille"
local nn, optim, data = rille.nn, rille.optim, rille.data

local Model = nn.module "Model"

function Model:init(width)
  self.conv = nn.Conv2d(3, width, 3, { padding = 1, stride = 2 })
  self.norm1 = nn.BatchNorm2d(width)
  self.places = nn.Embedding(36, width)
  self.qkv = nn.Linear(width, 3 * width)
  self.dropout = nn.Dropout(0.1)
  self.norm2 = nn.LayerNorm(width)
  self.head = nn.Linear(width, 10)
end

function Model:forward(x)                              -- [batch, 3, 12, 12]
  local h = rille.gelu(self.norm1(self.conv(x))):flatten(3):transpose(2, 3)
  h = h + self.places(rille.arange(0, 35))
  local q, k, v = self.qkv(h):unflatten(3, { 3, 4, -1 }):permute(3, 1, 4, 2, 5):unbind(1)
  local a = rille.scaled_dot_product_attention(q, k, v, { dropout = 0.1 })
  h = self.norm2(h + self.dropout(a:transpose(2, 3):flatten(3)))
  return self.head(h:mean(2))
end

return rille.recipe {
  name = "mixed",
  args = { steps = 8, width = 32, batch = 40 },
  setup = function(self, args)
    self.model = Model(args.width)
    self.optimizer = optim.AdamW(self.model:parameters(), { lr = 0.01 })
    self.set = data.table { x = rille.randn(200, 3, 12, 12), y = rille.randint(0, 9, { 200 }) }
  end,
  batches = function(self, args)
    return data.Loader(self.set, { batch = args.batch, shuffle = true, workers = 2 })
  end,
  loss = function(self, batch) return rille.cross_entropy(self.model(batch.x), batch.y) end,
  on = {
    save = function(self) rille.save("weights.safetensors", self.model:state_dict()) end,
  },
  clip = 0.5,
}
