-- Layers and optimizers from the same seed, as same_bits.cpp has them.
local rille = require "rille"
local nn, optim = rille.nn, rille.optim

local function show(title, list)
  print(title)
  for _, t in ipairs(list) do
    for _, v in ipairs(t:flatten():tolist()) do print(("%.17g"):format(v)) end
  end
end

local Net = nn.module "Net"

function Net:init()
  self.conv = nn.Conv2d(1, 4, 3, { padding = 1 })
  self.norm = nn.BatchNorm2d(4)
  self.out = nn.Linear(36, 5)
end

function Net:forward(x)
  local y = rille.max_pool2d(rille.gelu(self.norm(self.conv(x))), 2)
  return self.out(y:flatten(2))
end

local function train(kind, options)
  rille.seed(11)
  local net = Net()
  local opt = optim[kind](net:parameters(), options)
  for _ = 1, 4 do
    local x, y = rille.randn(8, 1, 6, 6), rille.randint(0, 4, { shape = { 8 } })
    opt:zero_grad()
    rille.cross_entropy(net(x), y, { label_smoothing = 0.1 }):backward()
    opt:step()
  end
  show(kind:lower(), net:parameters())
  show("buffers", net:buffers())
end

train("SGD", { lr = 0.1, momentum = 0.9, nesterov = true })
train("Adam", { lr = 0.01, weight_decay = 0.1 })
train("AdamW", { lr = 0.01, amsgrad = true })

rille.seed(3)
local lstm, table_of = nn.LSTM(3, 4, { layers = 2 }), nn.Embedding(7, 3)
local dropout = nn.Dropout(0.25)
local ids = rille.randint(0, 6, { shape = { 5, 2 } })
local y, h, c = lstm(dropout(table_of(ids)))
local loss = y:sum() + (h * c):sum()
loss:backward()
show("lstm", { y, h, c })
for _, p in ipairs(lstm:parameters()) do show("gradient", { p.grad }) end
