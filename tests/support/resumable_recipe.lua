-- A recipe with a bit of everything that a checkpoint must hold: dropout, running statistics of a
-- batch norm, a schedule, an average of the weights, shuffled items that workers change at random,
-- two batches a step, draws from both generators and from one of its own, a value kept in `self`,
-- a part that freezes on the way. Says each checkpoint that is durable.
local rille = require "rille"
local nn, optim, data = rille.nn, rille.optim, rille.data

return rille.recipe {
  name = "resumable",
  args = {
    steps = 60, batch = 8, lr = 0.01, workers = { default = 2, neutral = true },
    said = { type = "path", help = "a file that gets a line for each durable checkpoint" },
  },
  setup = function(self, args)
    self.model = nn.Sequential(nn.Linear(6, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3),
      nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
    self.optimizer = optim.AdamW(self.model:parameters(), { lr = args.lr })
    self.average = optim.EMA(self.model, { decay = 0.9 })
    self.schedule = optim.lr.Cosine(self.optimizer, { steps = args.steps })
    self.noise = rille.generator(11)
    self.seen, self.state = 0, { losses = {} }
  end,
  batches = function(_, args, split)
    local items = {}
    for i = 1, 88 do
      local x = (rille.arange(1, 6) * i):to("f32"):sin()
      items[i] = { x = x, y = x:sum() }
    end
    return data.Loader(items, {
      batch = args.batch, shuffle = split == "train", workers = args.workers,
      transform = function(item)
        return { x = item.x + 0.1 * rille.randn(6) + 0.1 * math.random(), y = item.y }
      end,
    })
  end,
  loss = function(self, batch)
    self.seen = self.seen + #batch.x
    local shift = math.random() * 0.1 + 1e-3 * (self.seen % 7)
    local scale = rille.full({ 1 }, 1.0):bernoulli(0.9, { generator = self.noise })
    return rille.mse_loss((self.model(batch.x) * scale):squeeze(2), batch.y + shift)
  end,
  clip = 1.0, accumulate = 2,
  save = { every = 5, keep = 2 }, evaluate = { every = 12, batches = 3 },
  on = {
    step = function(self, loss, step)
      self.average:update()
      self.state.losses[#self.state.losses % 4 + 1] = loss
      if step == 30 then
        self.model[1]:requires_grad_(false)
        self.model[2]:eval()
      end
    end,
    save = function(self, _, step)
      if not self.args.said then return end
      local file <close> = io.open(self.args.said, "a")
      file:write(step, "\n")
    end,
  },
}
