-- Losses that are more than one formula: ctc_loss against PyTorch and its definition, those of
-- several labels, the triplet loss with a distance of one's own; a module for every loss.
--
-- The values come from torch 2.15 in f64, on inputs as support/waves.lua says.
local t = require "support.test"
local waves = require "support.waves"
local rille = require "rille"
local nn = rille.nn
local wave, flat = waves.wave, waves.flat

local function ids(values) return rille.tensor(values, { dtype = "i64" }) end

local function ctc(z, reduction)
  return rille.ctc_loss(z:log_softmax(-1), ids { { 1, 2, 2 }, { 3, 3, 1 }, { 2, 1, 3 } },
    ids { 5, 5, 4 }, ids { 3, 2, 0 }, { reduction = reduction })
end

t.test("ctc_loss and its gradient through log_softmax", function()
  local z = (wave({ 5, 3, 4 }, 0.3) * 4):requires_grad_()
  t.near(flat(ctc(z, "none")), { 7.452508, 2.356163, 8.75787 }, 1e-6)
  t.near(ctc(z, "sum"):item(), 18.56654, 1e-6)
  local loss = ctc(z)
  t.near(loss:item(), 4.14004, 1e-6)
  loss:backward()
  t.near(flat(z.grad[{ {}, 2 }]), {
    -0.03658843, 0.02895142, 0.01393321, -0.006296196, 0.002350639, 0.009974277, 0.03930756,
    -0.05163248, -0.09082296, 0.06858911, 0.03430069, -0.01206684, -0.03954764, 0.02877473,
    0.01499612, -0.004223209, 0.002762356, 0.01042005, 0.040999, -0.05418141,
  }, 1e-6)
end)

t.test("ctc_loss of labels one after another, where some don't fit, of one sequence", function()
  local z = wave({ 5, 3, 4 }, 0.3) * 4
  local x = z:log_softmax(-1):requires_grad_()
  local function loss(options)
    options.blank = 3
    return rille.ctc_loss(x, ids { 0, 0, 1, 2 }, ids { 5, 2, 3 }, ids { 1, 2, 1 }, options)
  end
  t.near(flat(loss { reduction = "none" }), { 5.888744, 3.259486, 2.992681 }, 1e-6)
  t.near(rille.ctc_loss(x[{ {}, 1 }], ids { 1, 2 }, ids { 5 }, ids { 2 }):item(), 1.780365, 1e-6)
  -- Two equal labels need a blank between: three steps of time, not two.
  local short = rille.ctc_loss(x, ids { 1, 1, 1, 1, 1, 1 }, ids { 2, 3, 5 }, ids { 2, 2, 2 },
    { reduction = "none" })
  t.eq(short[1]:item(), math.huge)
  t.ok(short[2]:item() < math.huge)
  local finite = nn.CTCLoss { zero_infinity = true, reduction = "sum" }
  local sum = finite(x, ids { 1, 1, 1, 1, 1, 1 }, ids { 2, 3, 5 }, ids { 2, 2, 2 })
  t.near(sum:item(), short[{ { 2, 3 } }]:sum():item(), 1e-12)
  sum:backward()
  t.eq(x.grad[{ {}, 1 }]:abs():sum():item(), 0)
end)

-- The sum over all paths, one by one.
t.test("ctc_loss is the probability of all alignments", function()
  local time, classes, label = 4, 3, { 1, 2 }
  local p = wave({ time, 1, classes }, 0.3):softmax(-1)
  local total = 0
  for path = 0, classes ^ time - 1 do
    local read, last, chance = {}, 0, 1
    for step = 1, time do
      local class = path // classes ^ (step - 1) % classes
      if class ~= last and class ~= 0 then read[#read + 1] = class end
      last, chance = class, chance * p[{ step, 1, math.tointeger(class) + 1 }]:item()
    end
    if #read == 2 and read[1] == label[1] and read[2] == label[2] then total = total + chance end
  end
  local loss = rille.ctc_loss(p:log(), ids { label }, ids { time }, ids { 2 },
    { reduction = "sum" })
  t.near(loss:item(), -math.log(total), 1e-10)
end)

t.test("ctc_loss tells wrong lengths and labels", function()
  local x = rille.randn(4, 1, 3):log_softmax(-1)
  t.error_like(function() rille.ctc_loss(x, ids { { 3 } }, ids { 4 }, ids { 1 }) end,
    { code = "E_INDEX", message = "label 1 of sequence 1 is 3" })
  t.error_like(function() rille.ctc_loss(x, ids { { 1 } }, ids { 5 }, ids { 1 }) end,
    { code = "E_ARG", message = "'input_lengths' must be from 0 to 4, got 5 at 1" })
  t.error_like(function() rille.ctc_loss(x, ids { 1, 2 }, ids { 4 }, ids { 1 }) end,
    { code = "E_SHAPE", message = "'target' holds 2 labels, 'target_lengths' name 1" })
end)

t.test("losses of several labels", function()
  local target = ids { { 3, 0, -1, 1 }, { 1, -1, 0, 2 } }
  local margin = nn.MultiLabelMarginLoss { reduction = "none" }
  t.near(flat(margin(wave({ 2, 4 }, 0.3), target)), { 1.215538, 0.7520212 }, 1e-6)
  local soft = nn.MultiLabelSoftMarginLoss {
    weight = rille.tensor({ 1, 2, 3 }, { dtype = "f64" }), reduction = "none",
  }
  local y = rille.tensor({ { 1, 0, 1 }, { 0, 0, 1 } }, { dtype = "f64" })
  t.near(flat(soft(wave({ 2, 3 }, 0.3), y)), { 1.299971, 1.618897 }, 1e-6)
end)

t.test("the triplet loss with a distance of one's own", function()
  local loss = nn.TripletMarginWithDistanceLoss {
    distance = function(a, b) return (a - b):abs():sum(-1) end, margin = 2.0, swap = true,
  }
  local got = loss(wave({ 2, 3 }, 0), wave({ 2, 3 }, 1), wave({ 2, 3 }, 2))
  t.near(got:item(), 2.203714, 1e-6)
end)
