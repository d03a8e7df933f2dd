-- What nn.init and modules without parameters refuse, with what words: on the user's line.
local t = require "support.test"
local refused = require "support.refused"
local rille = require "rille"
local nn, init = rille.nn, rille.nn.init

local w = rille.zeros(4, 3)

refused("nn.init refuses what it doesn't know", {
  { function() init.kaiming_normal_(w, { mode = "bogus" }) end, "E_TYPE",
    "'mode' must be 'fan_in' or 'fan_out', got string 'bogus'" },
  { function() init.kaiming_normal_(w, { nonlinearity = "rleu" }) end, "E_OPTION",
    "unknown nonlinearity 'rleu' (did you mean 'relu'?)" },
  { function() init.kaiming_uniform_(w, { moed = "fan_in" }) end, "E_OPTION",
    "unknown option 'moed' (did you mean 'mode'?)" },
  { function() init.calculate_gain("bogus") end, "E_OPTION", "unknown nonlinearity 'bogus'" },
  { function() init.normal_(5) end, "E_TYPE", "'t' must be a tensor, got 5" },
  { function() init.normal_(w, 0, -1) end, "E_ARG", "'std' must be at least 0, got -1" },
  { function() init.normal_(w, 0, 1, 2) end, "E_ARG", "takes at most 3 arguments, got 4" },
  { function() init.constant_(w) end, "E_ARG", "'value' is missing" },
  { function() init.xavier_normal_(w, "x") end, "E_TYPE", "'gain' must be a number" },
  { function() init.xavier_normal_(rille.zeros(3)) end, "E_ARG", "needs two dims or more, got 1" },
  { function() init.trunc_normal_(w, 0, 1, 2, -2) end, "E_ARG",
    "'low' must be below 'high', got 2 and -2" },
  { function() init.trunc_normal_(w, 0, 0) end, "E_ARG", "'std' must be above 0, got 0" },
  { function() init.eye_(rille.zeros(3)) end, "E_ARG", "needs two dims, got 1" },
  { function() init.dirac_(rille.zeros(4, 3, 3), 3) end, "E_ARG",
    "4 channels can't be cut into 3 groups" },
})

t.test("options of nn.init stand by position or by name", function()
  local function drawn(...)
    rille.seed(3)
    return init.xavier_normal_(rille.zeros(4, 3), ...)
  end
  t.eq(drawn { gain = 2 }, drawn(2):tolist())
  t.eq(init.uniform_(rille.zeros(2), { low = 3, high = 3 }), { 3.0, 3.0 })
  t.eq({ init.orthogonal_(rille.zeros(0, 3)):size() }, { 0, 3 })
end)

refused("modules without parameters refuse options where they are made", {
  { function() nn.CrossEntropyLoss { reductoin = "sum" } end, "E_OPTION",
    "unknown option 'reductoin' (did you mean 'reduction'?)" },
  { function() nn.CrossEntropyLoss { reduction = "som" } end, "E_TYPE",
    "'reduction' must be " },
  { function() nn.GELU { approximate = "x" } end, "E_TYPE",
    "'approximate' must be 'none' or 'tanh', got string 'x'" },
  { function() nn.MaxPool2d "x" end, "E_TYPE", "'kernel' must be an integer or a list" },
  { function() nn.MaxPool2d() end, "E_ARG", "'kernel' is missing" },
  { function() nn.Dropout { p = "x" } end, "E_TYPE", "'p' must be a number, got string 'x'" },
  { function() nn.RReLU("x") end, "E_TYPE", "'lower' must be a number, got string 'x'" },
})

t.test("what they take, they take", function()
  local loss = nn.CrossEntropyLoss { weight = rille.ones(3), label_smoothing = 0.1 }
  t.ok(loss(rille.zeros(2, 3), rille.zeros(2, { dtype = "i64" })):item() > 0)
  t.eq(nn.MaxPool1d { kernel = 2 }(rille.tensor { { { 1.0, 2.0 } } }), { { { 2.0 } } })
end)

local function without(field, layer, ...)
  layer[field] = nil
  return layer(...)
end

local flat = nn.Bilinear(2, 2, 2)
flat.weight = rille.ones(3)

refused("a layer that lost a tensor says so", {
  { function() without("weight", nn.Linear(2, 2), rille.ones(1, 2)) end, "E_ARG",
    "the layer was made with a 'weight' and has none now" },
  { function() without("weight", nn.Embedding(2, 2), rille.tensor { 1 }) end, "E_ARG",
    "made with a 'weight'" },
  { function() without("weight", nn.Conv2d(1, 1, 1), rille.ones(1, 1, 2, 2)) end, "E_ARG",
    "made with a 'weight'" },
  { function() without("weight", nn.PReLU(), rille.ones(2)) end, "E_ARG", "made with a 'weight'" },
  { function() without("weight_hh_l0", nn.LSTM(2, 2), rille.ones(1, 2, 2)) end, "E_ARG",
    "made with a 'weight_hh_l0'" },
  { function() without("weight_ih", nn.GRUCell(2, 2), rille.ones(1, 2)) end, "E_ARG",
    "made with a 'weight_ih'" },
  { function() flat(rille.ones(1, 2), rille.ones(1, 2)) end, "E_SHAPE",
    "'weight' was made with 3 dims, it has 1 now" },
})

t.test("a layer that was made without a bias needs none", function()
  t.eq(nn.Linear(2, 3, { bias = false })(rille.ones(1, 2)):shape(), { 1, 3 })
end)

refused("lists of modules hold modules, in order", {
  { function() nn.Sequential(nn.ReLU) end, "E_TYPE",
    "'member' must be a module, got the class ReLU" },
  { function() nn.Sequential(nn.Linear(2, 2), nn.ReLU) end, "E_TYPE", "got the class ReLU" },
  { function() nn.Sequential { a = nn.ReLU() } end, "E_ARG",
    "takes its members in order, got one at 'a'" },
  { function() nn.ModuleList { [2] = nn.ReLU() } end, "E_ARG", "got one at '2'" },
  { function() nn.ModuleList():extend(5) end, "E_TYPE", "'values' must be a list, got 5" },
})

t.test("a list takes the members of another", function()
  t.eq(#nn.ModuleList():extend(nn.ModuleList { nn.ReLU(), nn.Tanh() }), 2)
end)
