-- What the library makes in a loop from a table says of itself there: { doc, signature, options }.
local common = require "rille.optim.common"
local curves = require "rille.optim.curves"
local kinds = require "rille.optim.kinds"

local optimizer = "params: rille.Tensor[]|rille.optim.group[] -> rille.optim.Optimizer"
local schedule = "optimizer: rille.optim.Optimizer -> rille.optim.lr.Schedule"

return function(path, name)
  if path == "rille.optim" and kinds[name] then
    return { doc = kinds[name].doc, signature = optimizer, options = common(kinds[name]) }
  elseif path == "rille.optim" and name == "warmup_cosine" then
    local curve = curves.WarmupCosine
    return { doc = curve.doc, signature = schedule, options = curve.options }
  elseif path == "rille.optim.lr" and curves[name] then
    return { doc = curves[name].doc, signature = schedule, options = curves[name].options }
  elseif path == "rille" and name == "recipe" then
    local fields = require "rille.recipe.declared"
    return { signature = "given: rille.recipe.options -> rille.Recipe", options = fields }
  end
end
