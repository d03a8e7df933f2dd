-- The Apex spelling of mixed precision, for recipes that come from there (docs/apex.md).
--   rille run apex_style.lua
--   rille run apex_style.lua --opt-level O1 --steps 200
local rille = require "rille"
local nn, optim, amp = rille.nn, rille.optim, rille.amp

local args = rille.args { opt_level = "O2", loss_scale = "dynamic", steps = 50 }
local model = nn.Sequential(nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 10))
  :to(rille.default_device())
local opt = optim.SGD(model:parameters(), { lr = 0.1, momentum = 0.9 })
model, opt = amp.initialize(model, opt, {
  opt_level = args.opt_level, loss_scale = args.loss_scale,
})

for _ = 1, args.steps do
  local x = rille.randn(32, 64, { device = model.device })
  local y = rille.randint(0, 9, { 32 }, { device = model.device })
  opt:zero_grad()
  local loss = rille.cross_entropy(model(x), y)
  do
    local scaled <close> = amp.scale_loss(loss, opt)  -- unscales and checks as the block ends
    scaled:backward()
  end
  opt:step()
end
print(amp.state_dict().loss_scaler0.loss_scale)
