-- Throws E_TYPE unless `optimizer` has the groups of one: plain lists and tables, so that loops
-- over them end. What is no optimizer may have an __index that never says nil. A schedule asks for
-- no parameters, so that whatever has rates can have one.
local fail = require "rille.fail"

local function is_plain(value) return type(value) == "table" and getmetatable(value) == nil end

return function(op, optimizer, with_params)
  local groups = type(optimizer) == "table" and rawget(optimizer, "groups")
  local fits = is_plain(groups)
  for i = 1, fits and #groups or 0 do
    fits = fits and is_plain(groups[i])
    if fits and with_params then fits = is_plain(groups[i].params) end
  end
  if not fits then fail.type(op, "optimizer", "an optimizer", optimizer) end
end
