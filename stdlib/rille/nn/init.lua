-- rille.nn: modules, layers, initialisation. What is in it is loaded when it is first asked for.
local lazy = require "rille.lazy"
require "rille.nn.walk"
require "rille.nn.state"
require "rille.nn.hooks"

return lazy("rille.nn", {
  "rille.nn.base", "rille.nn.containers", "rille.nn.layers", "rille.nn.stateless",
  "rille.nn.losses", "rille.nn.shapes", "rille.nn.attention", "rille.nn.transformer",
  "rille.nn.checkpoint",
}, { init = "rille.nn.initialise", utils = "rille.nn.utils", summary = "rille.nn.summary" })
