-- Layers and optimizers in the forms that PyTorch takes, too: one factor for all dims, weights of
-- classes that move with the loss, a rate that is saved, sequences without a batch.
local t = require "support.test"
local rille = require "rille"
local nn, optim = rille.nn, rille.optim

t.test("Upsample takes one factor for all dims, as its op does", function()
  local x = rille.randn(1, 2, 4, 4)
  local got = nn.Upsample { scale_factor = 2 }(x)
  local wanted = rille.interpolate(x, { scale_factor = 2 })
  t.eq(table.concat(got:shape(), " "), "1 2 8 8")
  t.ok(got:eq(wanted):all():item())
end)

t.test("the weights of a loss move with it and are saved", function()
  local loss = nn.CrossEntropyLoss { weight = rille.tensor { 1.0, 2.0, 3.0 } }
  t.eq(loss:state_dict().weight:tolist()[3], 3)
  local target = rille.zeros(2, { dtype = "i64", device = "meta" })
  local y = loss:to "meta" (rille.randn(2, 3, { device = "meta" }), target)
  t.eq(y.device, "meta")
end)

t.test("loaded weights are those that count", function()
  local x, target = rille.randn(2, 3), rille.tensor({ 0, 1 }, { dtype = "i64" })
  local one = nn.CrossEntropyLoss { weight = rille.tensor { 1.0, 2.0, 3.0 } }
  local other = nn.CrossEntropyLoss { weight = rille.ones(3) }
  other:load_state_dict(one:state_dict())
  t.eq(other(x, target):item(), one(x, target):item())
end)

t.test("the state of LBFGS has its rate", function()
  local p = rille.zeros(2, { requires_grad = true })
  local o = optim.LBFGS({ p }, { lr = 1 })
  o:load_state_dict(optim.LBFGS({ p }, { lr = 0.5 }):state_dict())
  t.eq(o.groups[1].lr, 0.5)
end)

for _, batch_first in ipairs { true, false } do
  t.test("attention over one sequence, batch_first = " .. tostring(batch_first), function()
    local attention = nn.MultiheadAttention(4, 2, { batch_first = batch_first })
    local x, place = rille.randn(3, 4), batch_first and 1 or 2
    local real = rille.tensor { true, true, false }
    local got, weights = attention(x, { need_weights = true, padding_mask = real })
    local wanted, all = attention(x:unsqueeze(place), {
      need_weights = true, padding_mask = real:unsqueeze(1),
    })
    t.ok(got:eq(wanted:squeeze(place)):all():item())
    t.ok(weights:eq(all:squeeze(1)):all():item())
  end)
end
