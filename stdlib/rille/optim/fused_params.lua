-- The parameters that take their steps during backward (rille.optim.fused_backward): what looks at
-- gradients afterwards asks here whether there will be any.
local fail = require "rille.fail"
local fused = require "rille.run_state"(setmetatable({}, { __mode = "k" }))

local fused_params = { marked = fused }

-- That no gradient of these was freed before it can be clipped.
function fused_params.refuse_clipping(op, params)
  for i, t in ipairs(params) do
    if fused[t] then
      fail.raise {
        kind = "state", code = "E_FUSED_CLIP", op = op,
        message = ("params[%d] takes its step during backward: no gradient is left to clip")
          :format(i),
        hint = "end fused_backward first, or clip nothing",
      }
    end
  end
end

return fused_params
