local rille = require "rille"
local x = rille.tensor { { 1, 0 }, { 2, 0 / 0 } }
local y = x:to("bf16", { nan = "error" })
print(y)
