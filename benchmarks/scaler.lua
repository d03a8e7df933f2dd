-- What a GradScaler costs: training steps without one, with one and with a disabled one, in turn,
-- so that a machine's drift meets all three alike. The GPT clips, so it unscales before the step.
local rille = require "rille"
local measure = require "measure"
local models = require "models"
local nn, amp = rille.nn, rille.amp

local function gpt()
  local o = { vocab = 65, layers = 4, heads = 4, width = 128, context = 64, batch = 12 }
  local model = models.GPT(o)
  local x, y = rille.randint(0, 64, o.batch, o.context), rille.randint(0, 64, o.batch, o.context)
  return model:parameters(), models.adamw(model), function() return model(x, y) end, true
end

local function mlp()
  local model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
    nn.Linear(512, 10))
  local optimizer = rille.optim.SGD(model:parameters(), { lr = 0.05, momentum = 0.9 })
  local x, y = rille.randn(128, 784), rille.randint(0, 9, 128)
  return model:parameters(), optimizer, function() return rille.cross_entropy(model(x), y) end
end

-- One training step; `scaler` may be nil.
local function step_of(parameters, optimizer, loss_of, clips, scaler)
  return function()
    optimizer:zero_grad()
    local loss = loss_of()
    if scaler then loss = scaler:scale(loss) end
    loss:backward()
    if clips and scaler then scaler:unscale_(optimizer) end
    if clips then nn.clip_grad_norm_(parameters, 1.0) end
    if not scaler then return optimizer:step() end
    scaler:step(optimizer)
    scaler:update()
  end
end

local function workload(name, make)
  local parameters, optimizer, loss_of, clips = make()
  local function with(scaler) return step_of(parameters, optimizer, loss_of, clips, scaler) end
  measure.in_turn({ name, name .. "_scaled", name .. "_disabled" },
    { with(), with(amp.GradScaler()), with(amp.GradScaler { enabled = false }) })
end

workload("gpt", gpt)
workload("mlp", mlp)
