-- The GPT of the workloads gpt and char_gpt: pre-norm, no bias, tied head, causal attention; and
-- the ResNet-18 of resnet, with the first layer for small images.
local rille = require "rille"
local nn = rille.nn

local Block = nn.module "Block"

function Block:init(width, heads)
  self.heads = heads
  self.norm1 = nn.LayerNorm(width, { bias = false })
  self.qkv = nn.Linear(width, 3 * width, { bias = false })
  self.out = nn.Linear(width, width, { bias = false })
  self.norm2 = nn.LayerNorm(width, { bias = false })
  self.up = nn.Linear(width, 4 * width, { bias = false })
  self.down = nn.Linear(4 * width, width, { bias = false })
end

function Block:forward(x)
  local b, t, c = x:size()
  local q, k, v = self.qkv(self.norm1(x)):view(b, t, 3, self.heads, -1):permute(3, 1, 4, 2, 5)
    :unbind(1)
  local y = rille.scaled_dot_product_attention(q, k, v, { causal = true })
  x = x + self.out(y:transpose(2, 3):reshape(b, t, c))
  return x + self.down(rille.gelu(self.up(self.norm2(x))))
end

local GPT = nn.module "GPT"

function GPT:init(o)
  self.tokens = nn.Embedding(o.vocab, o.width)
  self.places = nn.Embedding(o.context, o.width)
  self.blocks = nn.ModuleList()
  for i = 1, o.layers do self.blocks[i] = Block(o.width, o.heads) end
  self.norm = nn.LayerNorm(o.width, { bias = false })
  self.head = nn.Linear(o.width, o.vocab, { bias = false })
  self.head.weight = self.tokens.weight
  for name, p in self:named_parameters() do
    local residual = name:match "%.out%." or name:match "%.down%."
    if p:dim() >= 2 then nn.init.normal_(p, 0, residual and 0.02 / (2 * o.layers) ^ 0.5 or 0.02) end
  end
end

-- The mean loss of ids and targets, i64 [batch, time].
function GPT:forward(ids, targets)
  local _, t = ids:size()
  local x = self.tokens(ids) + self.places(rille.arange(0, t - 1, { dtype = "i64" }))
  for _, block in ipairs(self.blocks) do x = block(x) end
  return rille.cross_entropy(self.head(self.norm(x)):flatten(1, 2), targets:flatten())
end

local Residual = nn.module "Residual"

function Residual:init(inputs, outputs, stride)
  self.conv1 = nn.Conv2d(inputs, outputs, 3, { stride = stride, padding = 1, bias = false })
  self.norm1 = nn.BatchNorm2d(outputs)
  self.conv2 = nn.Conv2d(outputs, outputs, 3, { padding = 1, bias = false })
  self.norm2 = nn.BatchNorm2d(outputs)
  if stride ~= 1 or inputs ~= outputs then
    self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, { stride = stride, bias = false }),
      nn.BatchNorm2d(outputs))
  end
end

function Residual:forward(x)
  local y = self.norm2(self.conv2(rille.relu(self.norm1(self.conv1(x)))))
  return rille.relu(y + (self.shortcut and self.shortcut(x) or x))
end

local models = { GPT = GPT }

function models.resnet18()
  local layers = { nn.Conv2d(3, 64, 3, { padding = 1, bias = false }), nn.BatchNorm2d(64),
    nn.ReLU() }
  local inputs = 64
  for i, outputs in ipairs { 64, 128, 256, 512 } do
    layers[#layers + 1] = Residual(inputs, outputs, i == 1 and 1 or 2)
    layers[#layers + 1] = Residual(outputs, outputs, 1)
    inputs = outputs
  end
  layers[#layers + 1] = nn.AdaptiveAvgPool2d(1)
  layers[#layers + 1] = nn.Flatten()
  layers[#layers + 1] = nn.Linear(512, 10)
  return nn.Sequential(table.unpack(layers))
end

function models.adamw(model)
  return rille.optim.AdamW(model:parameter_groups { decay = 0.1 },
    { lr = 1e-3, betas = { 0.9, 0.99 } })
end

-- One training step of a model, or of a function that calls it; returns the loss, a tensor.
function models.train_step(model, parameters, optimizer, x, y)
  optimizer:zero_grad()
  local loss = model(x, y)
  loss:backward()
  rille.nn.clip_grad_norm_(parameters, 1.0)
  optimizer:step()
  return loss
end

return models
