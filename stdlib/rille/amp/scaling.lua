-- The constructor of amp.GradScaler.
local GradScaler = require "rille.amp.grad_scaler"
local read_options = require "rille.options"

local known = {
  { "device", type = "string", doc = "that the loss is computed on; the default one without" },
  { "init_scale", 65536, doc = "what the loss is multiplied by at first" },
  { "growth_factor", 2, doc = "what the scale grows by" },
  { "backoff_factor", 0.5, doc = "what it falls by where a gradient is not finite" },
  { "growth_interval", 2000, type = "integer", doc = "clean updates in a row before it grows" },
  { "enabled", true, doc = "false: it does nothing" },
  { "dynamic", true, doc = "false: the scale stays as it is; steps are still skipped" },
  { "min_scale", 2 ^ -14, doc = "a scale that falls to this is an error; 0: never" },
  { "max_scale", type = "number", doc = "it grows no further" },
  { "hysteresis", 1, type = "integer", doc = "overflows in a row before the scale falls" },
  { "group", type = "fun(found: boolean): boolean",
    doc = "told whether this rank found a gradient that is not finite, says whether any did" },
  { "force", false, doc = "true: it serves a bf16 loss, too, which needs no scale" },
  { "allow_empty", false, doc = "true: an optimizer without any gradient takes an empty step" },
}

return {
  -- Multiplies the loss so that small gradients survive in f16, divides the gradients again, and
  -- skips the step where one of them is not finite; its scale follows.
  --: -> rille.amp.GradScaler
  GradScaler = function(options)
    return GradScaler.new(read_options("GradScaler", options, known))
  end,
}
