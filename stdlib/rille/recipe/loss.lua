-- The loss of a batch, as the recipe's function gives it.
local native = require "rille.native"
local fail = require "rille.fail"

return function(self, batch)
  native.stand_in(self.loss)
  local loss = self.loss(self, batch)
  if not native.is_tensor(loss) then
    fail.type("recipe", "loss(batch)", "a tensor of one number", loss)
  end
  if loss:numel() ~= 1 then
    fail.argument("recipe", "'loss(batch)' must be one number, such as a mean, got %s[%s]",
      loss.dtype, table.concat({ loss:size() }, ", "))
  end
  native.stand_in(nil)
  return loss
end
