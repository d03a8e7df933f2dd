local rille = require "rille"
rille.default_dtype "f8_e4m3"
