-- The names of rille.optim: optim.AdamW(params, options) and so on, from the table of kinds.
local Optimizer = require "rille.optim.optimizer"
local kinds = require "rille.optim.kinds"

local names = {}
for name, kind in pairs(kinds) do
  names[name] = function(params, options) return Optimizer.new(name, kind, params, options) end
end

function names.warmup_cosine(optimizer, options)
  local curve = require "rille.optim.curves".WarmupCosine
  return require "rille.optim.scheduled"("warmup_cosine", curve)(optimizer, options)
end

return names
