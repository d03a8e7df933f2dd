local rille = require "rille"
local t = rille.load "no_such_file.safetensors"
