-- Code that runs on meta, where nothing is computed, and what its tensors would take
-- (runtime/core/rehearsal.h). While one is under way, modules are made on meta; what else a script
-- makes is real, so that it can read its data and pick a batch of it.
local rille = require "rille"
local native = require "rille.native"

local rehearsal = { on = false }

local ending = { __close = function()
  rehearsal.on = false
  native.rehearse(false)
end }

-- f(...), counted from nothing.
function rehearsal.within(f, ...)
  native.rehearse(true)
  rehearsal.on = true
  local _ <close> = setmetatable({}, ending)
  return f(...)
end

-- make(...) with what it makes on meta.
function rehearsal.on_meta(make, ...)
  return rille.device("meta", make, ...)
end

-- Bytes in use, the most there were, additions and multiplications.
rehearsal.figures = native.rehearsed
rehearsal.from_here = native.rehearse_from_here

return rehearsal
