-- nn.module: which fields are found and in what order, what is done to a whole tree, saved names.
local t = require "support.test"
local rille = require "rille"
local nn = rille.nn

local Pair = nn.module "Pair"

function Pair:init(width)
  self.width = width
  self.second = nn.Linear(width, width)
  self.first = nn.Linear(width, 2, { bias = false })
  self.scale = nn.Parameter(rille.ones(width))
  self.plain = rille.zeros(3)
  self:buffer("count", rille.zeros(1))
  self:buffer("scratch", rille.zeros(1), { persistent = false })
end

function Pair:forward(x)
  return self.first(self.second(x) * self.scale)
end

local function names_of(iterator)
  local names = {}
  for name in iterator do names[#names + 1] = name end
  return names
end

local function keys_of(list)
  local keys = {}
  for key in pairs(list) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

t.test("parameters, buffers and children are found in the order of setting", function()
  local pair = Pair(4)
  t.eq(names_of(pair:named_parameters()),
    { "scale", "second.weight", "second.bias", "first.weight" })
  t.eq(names_of(pair:named_buffers()), { "count", "scratch" })
  t.eq(names_of(pair:named_children()), { "second", "first" })
  t.eq(names_of(pair:named_modules()), { "", "second", "first" })
  t.eq(#pair:parameters(), 4)
  t.eq(keys_of(pair:state_dict()),
    { "count", "first.weight", "scale", "second.bias", "second.weight" })
end)

t.test("setting again keeps the place, nil takes away", function()
  local pair = Pair(4)
  pair.second = nn.Linear(4, 4, { bias = false })
  t.eq(names_of(pair:named_children()), { "second", "first" })
  pair.second = nil
  t.eq(names_of(pair:named_children()), { "first" })
  pair.scale = nil
  t.eq(names_of(pair:named_parameters()), { "first.weight" })
end)

t.test("nn.Parameter is a leaf that shares memory and asks for gradients", function()
  local source = rille.ones(3)
  local p = nn.Parameter(source)
  t.ok(p.requires_grad and p.is_leaf)
  t.eq(source.requires_grad, false)
  t.eq(nn.Parameter(source, { requires_grad = false }).requires_grad, false)
end)

t.test("a tied parameter is listed and saved once, and loads under either name", function()
  local function tied()
    local m = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5, { bias = false }))
    m[2].weight = m[1].weight
    return m
  end
  local m, other = tied(), tied()
  t.eq(names_of(m:named_parameters()), { "1.weight" })
  t.eq(keys_of(m:state_dict()), { "1.weight" })
  other:load_state_dict { ["2.weight"] = m[1].weight:detach() }
  t.eq(other[1].weight, m[1].weight:tolist())
  t.ok(rawequal(other[1].weight, other[2].weight))
end)

t.test("a module prints as a tree, equal neighbours once", function()
  local m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.ReLU(), nn.Dropout(0.1))
  t.eq(tostring(m), table.concat({
    "Sequential(", "  (1): Linear(in=3, out=4, bias=true)", "  (2-3): 2 x ReLU()",
    "  (4): Dropout(p=0.1)", ")",
  }, "\n"))
end)

t.test("modes, flags and gradients reach the whole tree", function()
  local m = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout(0.5)))
  t.eq(m:eval()[2][1].training, false)
  t.eq(m:train()[2][1].training, true)
  m:requires_grad_(false)
  t.eq(m[1].weight.requires_grad, false)
  m:requires_grad_()
  m(rille.ones(1, 2)):sum():backward()
  t.ok(m[1].weight.grad)
  m:zero_grad()
  t.eq(m[1].weight.grad, nil)
  local order = {}
  m:apply(function(part) order[#order + 1] = tostring(part):match "^%w+" end)
  t.eq(order, { "Linear", "Dropout", "Sequential", "Sequential" })
end)

t.test("decay goes to matrices only", function()
  local groups = nn.Linear(3, 2):parameter_groups { decay = 0.1 }
  t.eq(groups[1].weight_decay, 0.1)
  t.eq(groups[2].weight_decay, 0)
  t.eq(groups[1].params[1]:dim(), 2)
  t.eq(groups[2].params[1]:dim(), 1)
end)

t.test("what was saved loads", function()
  local a, b = Pair(4), Pair(4)
  a.count:fill_(7)
  b:load_state_dict(a:state_dict())
  local x = rille.randn(2, 4)
  t.eq(b(x), a(x):tolist())
  t.eq(b.count:item(), 7)
end)

t.test("a load tells all that is wrong at once", function()
  local dict = Pair(4):state_dict()
  dict["second.wieght"], dict["second.weight"] = dict["second.weight"], nil
  dict.scale = rille.ones(5)
  local err = t.error_like(function() Pair(4):load_state_dict(dict) end,
    { code = "E_STATE", message = "1 missing, 1 unexpected, 1 of another shape" })
  local facts = table.concat(err.facts, "\n")
  t.ok(facts:find("second.weight (the file has 'second.wieght')", 1, true), facts)
  t.ok(facts:find("scale: is [4], the file has [5]", 1, true), facts)
end)

t.test("strict = false loads what fits", function()
  local a, b = Pair(4), Pair(4)
  local dict = a:state_dict()
  dict.scale, dict.extra = nil, rille.ones(1)
  local missing, unexpected = b:load_state_dict(dict, { strict = false })
  t.eq(missing, { "scale" })
  t.eq(unexpected, { "extra" })
  t.eq(b.first.weight, a.first.weight:tolist())
end)

t.test("PyTorch's names count from 0", function()
  local m = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Sequential(nn.Linear(2, 1)))
  local dict = m:state_dict { names = "torch" }
  t.eq(keys_of(dict), { "0.bias", "0.weight", "2.0.bias", "2.0.weight" })
  nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Sequential(nn.Linear(2, 1)))
    :load_state_dict(dict, { names = "torch" })
end)

t.test("lists behave like lists", function()
  local list = nn.ModuleList()
  for i = 1, 3 do list[i] = nn.Linear(i, 1) end
  list:append(nn.Identity()):insert(1, nn.ReLU())
  t.eq(#list, 5)
  local seen = {}
  for i, m in ipairs(list) do seen[i] = tostring(m):match "^%w+" end
  t.eq(seen, { "ReLU", "Linear", "Linear", "Linear", "Identity" })
  t.eq(names_of(list:named_children()), { "1", "2", "3", "4", "5" })
  t.eq(#nn.ModuleList { nn.ReLU(), nn.ReLU() }, 2)
  t.eq(names_of(nn.ModuleDict { b = nn.ReLU(), a = nn.ReLU() }:named_children()), { "a", "b" })
  t.eq(#nn.ParameterList { rille.ones(2), rille.ones(3) }:parameters(), 2)
  t.error_like(function() nn.ModuleList { 3 } end, { message = "must be a module" })
end)

t.test("call is a plain function", function()
  local m = nn.Linear(2, 1)
  local x = rille.ones(1, 2)
  t.eq(coroutine.wrap(m.call)(x), m(x):tolist())
end)

t.test("a class may extend another", function()
  local Loud = nn.module("Loud", Pair)
  function Loud:init(width)
    Pair.init(self, width)
    self.loud = true
  end
  local m = Loud(4)
  t.ok(m.loud and m.scale)
  t.eq(m(rille.ones(1, 4)):shape(), { 1, 2 })
end)

t.test("forward hooks see and change", function()
  local m = nn.Linear(2, 2)
  local seen = 0
  local before = m:register_forward_pre_hook(function(_, inputs) return { inputs[1] * 2 } end)
  local after = m:register_forward_hook(function(_, _, output)
    seen = seen + 1
    return output + 1
  end)
  local x = rille.ones(1, 2)
  local hooked = m(x)
  before:remove()
  after:remove()
  t.near(hooked, (m(x * 2) + 1):tolist())
  t.eq(seen, 1)
end)

t.test("backward hooks see the gradients of a call", function()
  local m = nn.Linear(2, 1, { bias = false })
  local got
  local _ <close> = m:register_backward_hook(function(_, inputs, outputs)
    got = { inputs[1]:tolist(), outputs[1]:tolist() }
    return { inputs[1] * 10 }
  end)
  local x = rille.ones(1, 2, { requires_grad = true })
  m(x):sum():backward()
  t.eq(got[2], { { 1.0 } })
  t.near(got[1], m.weight:tolist())
  t.near(x.grad, (m.weight:detach() * 10):tolist())
end)

t.test("to casts what is floating point and keeps the parameters themselves", function()
  local m = Pair(4)
  m:buffer("ids", rille.zeros(2, { dtype = "i64" }))
  local held = m.scale
  m:to "f64"
  t.eq(held.dtype, "f64")
  t.ok(rawequal(held, m.scale))
  t.eq(m.count.dtype, "f64")
  t.eq(m.ids.dtype, "i64")
  t.eq(m.device, "cpu")
end)

t.test("an unknown layer or option names the nearest", function()
  t.error_like(function() return nn.Liner end, { message = "did you mean 'Linear'" })
  t.error_like(function() nn.Linear(2, 2, { bais = false }) end,
    { message = "did you mean 'bias'" })
  t.error_like(function() nn.Linear(2) end, { message = "'out' is missing" })
end)
