-- The options that an optimizer takes: those of its kind, then those that all share.
local shared = {
  { "maximize", false, doc = "steps go up the gradient" },
  { "master_weights", false, doc = "f32 copies of narrower parameters take the steps" },
  { "state_dtype", type = "rille.dtype", doc = "of what it keeps a parameter, down to f8_e4m3; \z
    the parameter's without" },
  { "stochastic_rounding", false, doc = "16-bit parameters without f32 copies are rounded by \z
    chance, so that small updates aren't lost" },
  { "stats", false, doc = "each step is measured, for opt:stats()" },
}

return function(kind)
  local list = table.move(kind.options, 1, #kind.options, 1, {})
  return table.move(shared, 1, #shared, #list + 1, list)
end
