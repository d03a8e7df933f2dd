-- A warning, nil for none, each text once: what is wrong in a training loop is wrong in every step.
local said = require "rille.run_state" {}

return function(text)
  if not text or said[text] then return end
  said[text] = true
  warn(text)
end
