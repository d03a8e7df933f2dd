-- W12: 16M random numbers into memory that is there already.
local rille = require "rille"
local measure = require "measure"

local x = rille.empty(16 * 1024 * 1024)
measure.case("normal", function() x:normal_() end)
measure.case("uniform", function() x:uniform_() end)
measure.case("bernoulli", function() x:bernoulli_(0.1) end)
