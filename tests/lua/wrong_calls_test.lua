-- Wrong arguments to the part of the library that Lua is written in raise error objects: with a
-- code, the name of what was called, and the script's line.
local t = require "support.test"
local rille = require "rille"
local nn, optim, data = rille.nn, rille.optim, rille.data

local function weight() return rille.ones(2, { requires_grad = true }) end

local holds_itself = {}
holds_itself[1], holds_itself.inner = holds_itself, holds_itself

local calls = {
  MultiheadAttention = function() return nn.MultiheadAttention() end,
  ["MultiheadAttention, nan"] = function() return nn.MultiheadAttention(4, 0 / 0) end,
  ["MultiheadAttention, a number to attend"] = function() return nn.MultiheadAttention(4, 2)(1) end,
  TransformerEncoderLayer = function() return nn.TransformerEncoderLayer() end,
  TransformerEncoder = function() return nn.TransformerEncoder(print) end,
  ModuleDict = function() return nn.ModuleDict(2) end,
  ["ModuleDict of numbers"] = function() return nn.ModuleDict { a = 1 } end,
  ["ModuleList:remove"] = function() return nn.ModuleList { nn.ReLU() }:remove(true) end,
  ["ModuleList:insert"] = function() return nn.ModuleList {}:insert("x", nn.ReLU()) end,
  ["module:apply"] = function() return nn.ReLU():apply(nil) end,
  ["module:to"] = function() return nn.ReLU():to("f64", 2) end,
  ["module:buffer"] = function() return nn.ReLU():buffer(0 / 0) end,
  ["module:register_forward_hook"] = function() return nn.ReLU():register_forward_hook(1) end,
  summary = function() return nn.summary(2) end,
  Parameter = function() return nn.Parameter(rille.ones(1), 2) end,
  no_grad = function() return rille.no_grad {} end,
  scope = function() return rille.scope(2) end,
  step = function() return rille.step(2) end,
  saved_tensors = function() return rille.saved_tensors(print, print, 2) end,
  device = function() return rille.device("cpu", 2) end,
  args = function() return rille.args({}, 2) end,
  progress = function() return rille.progress(rille.generator(1)) end,
  ["profile.time"] = function() return rille.profile.time() end,
  gradcheck = function() return rille.debugging.gradcheck() end,
  gradgradcheck = function() return rille.debugging.gradgradcheck(2, 2) end,
  master_params = function() return rille.amp.master_params(2) end,
  ["optimizer:add_group"] = function() return optim.SGD { weight() }:add_group(2) end,
  ["LBFGS:step"] = function() return optim.LBFGS { weight() }:step(function() end) end,
  ["EMA:apply"] = function() return optim.EMA(nn.Linear(1, 1)):apply(2) end,
  ["GradScaler:scale"] = function() return rille.amp.GradScaler():scale(holds_itself) end,
  ["fpstats:add"] = function() return rille.ones(1):fpstats():add(2) end,
  ["subset:position"] = function()
    return data.subset(data.table { x = rille.ones(2) }, { 1 }):position {}
  end,
  ["table:collated"] = function() return data.table { x = rille.ones(2) }:collated { {} } end,
  ["loader's loop"] = function()
    return data.Loader(data.table { x = rille.ones(2) })(nil, 0 / 0)
  end,
}

for name, call in pairs(calls) do
  t.test(name, function()
    local fine, err = pcall(call)
    t.ok(not fine, "it was taken")
    t.eq(type(err), "table")
    t.ok(err.code and err.kind, "no code")
    t.ok(err.where and err.where:find("wrong_calls_test.lua:", 1, true), tostring(err.where))
  end)
end

t.test("a default that is a table is each optimizer's own", function()
  local one, other = optim.AdamW { weight() }, optim.AdamW { weight() }
  one.groups[1].betas[1] = 0
  one.defaults.betas[2] = 0
  t.eq(other.groups[1].betas[1], 0.9)
  t.eq(optim.AdamW { weight() }.groups[1].betas[2], 0.999)
end)

t.test("objects lead to no class", function()
  local opt = optim.SGD { weight() }
  t.eq(opt.__index, nil)
  t.eq(optim.lr.Constant(opt).__index, nil)
  t.eq(rille.amp.GradScaler().__index, nil)
end)
