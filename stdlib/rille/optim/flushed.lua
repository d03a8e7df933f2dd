-- A look at the gradients of an optimizer's first steps, where autocast lowers to f16 and no scaler
-- is in charge: those that f16 is about to lose are told of, once (runtime/optim/flushed.h).
local native = require "rille.native"
local parameter = require "rille.parameter"

local looked_at = 10                                     -- steps

return function(optimizer)
  local before = optimizer.lowered
  optimizer.lowered = native.lowered_to_f16()
  if optimizer.scaled or optimizer.lowered == before then return end
  if optimizer.step_count >= looked_at then return end
  local params, names = {}, {}
  for _, group in ipairs(optimizer.groups) do
    for _, t in ipairs(group.params) do
      local n = #params + 1
      params[n], names[n] = t, parameter.name(t) or ("params[%d]"):format(n)
    end
  end
  local text = native.flushed(optimizer.name .. ".step", params, names)
  if not text then return end
  optimizer.scaled = true                                -- it was told
  warn(text)
end
