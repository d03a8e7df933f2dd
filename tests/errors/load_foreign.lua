local rille = require "rille"
local t = rille.load "load_foreign.lua"
