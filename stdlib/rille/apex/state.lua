-- What amp.initialize leaves for scale_loss, steps and state_dict: the properties in force, the
-- scaler of each loss, and what is known of each optimizer.
return require "rille.run_state" {
  properties = nil,                                     -- until the first initialize
  scalers = {},                                         -- loss scalers, of losses 0, 1, ...
  optimizers = setmetatable({}, { __mode = "k" }),      -- optimizer -> record (rille.apex.stepping)
  casts = nil,                                          -- the mode in which O1 casts

  -- Prints where verbosity asks for it.
  say = function(self, text, ...)
    if self.properties and self.properties.verbosity > 0 then print(text:format(...)) end
  end,
}
