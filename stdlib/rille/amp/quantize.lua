-- The ops behind low precision at rest, under the names of rille.amp.
local rille = require "rille"

return { quantize = rille.quantize, dequantize = rille.dequantize }
