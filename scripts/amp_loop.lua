-- Mixed precision by hand: an autocast scope, a GradScaler, accumulation, clipping, a schedule that
-- stands still on a skipped step. The same order of calls as in PyTorch (docs/mixed-precision.md).
--   rille run amp_loop.lua --steps 100 --dtype f16
local rille = require "rille"
local nn, optim, amp = rille.nn, rille.optim, rille.amp

local args = rille.args { steps = 100, dtype = "f16" }
local device = rille.default_device()
local model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)):to(device)
local opt = optim.SGD(model:parameters(), { lr = 0.05, momentum = 0.9 })
local schedule = optim.lr.OneCycle(opt, { max_lr = 0.05, steps = args.steps })
local scaler = amp.GradScaler { device = device }

local accumulate = 4
for step = 1, args.steps do
  for _ = 1, accumulate do
    local x = rille.randn(64, 512, { device = device })
    local y = rille.randn(64, 512, { device = device })
    local loss
    do
      local _ <close> = amp.autocast { device = device, dtype = args.dtype }
      loss = rille.mse_loss(model(x), y) / accumulate
    end
    scaler:scale(loss):backward()
  end
  scaler:unscale_(opt)
  local norm = nn.clip_grad_norm_(model:parameters(), 1.0)
  local stepped = scaler:step(opt)                       -- false where a gradient is not finite
  scaler:update()
  if stepped then schedule:step() end
  opt:zero_grad()
  if step % 20 == 0 then
    print(("step %d  norm %.3f  scale %g"):format(step, norm:item(), scaler:get_scale()))
  end
end
