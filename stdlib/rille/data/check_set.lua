-- A dataset is what has a length and items by position: a table, or a value with # and [i].
local fail = require "rille.fail"

local function is_set(value)
  local meta = getmetatable(value)
  return type(value) == "table"
    or type(value) == "userdata" and type(meta) == "table" and meta.__len ~= nil
end

return function(op, name, set)
  if not is_set(set) then fail.type(op, name, "a dataset (with # and [i])", set) end
  return set
end
