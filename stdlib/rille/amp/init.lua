-- rille.amp: mixed precision.
local lazy = require "rille.lazy"

return lazy("rille.amp", {
  "rille.amp.available", "rille.amp.quantize", "rille.amp.scaling", "rille.apex.amp",
}, {
  advise = "rille.amp.advise",
  autocast = "rille.amp.autocast",
  f8 = "rille.amp.f8",
  histogram = "rille.amp.histogram",
  report = "rille.amp.report",
})
