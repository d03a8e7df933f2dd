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
