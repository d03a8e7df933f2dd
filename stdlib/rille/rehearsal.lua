-- Code that runs on meta, where nothing is computed, and what its tensors would take
-- (runtime/core/rehearsal.h). While one is under way, modules are made on meta; what else a script
-- makes is real, so that it can read its data and pick a batch of it.
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"

local rehearsal = {}

local ending = { __close = function() native.rehearse(false) end }

-- f(...), counted from nothing. There is one at a time.
function rehearsal.within(f, ...)
  if native.rehearsed() then fail.state("rehearsal", "one is under way already") end
  native.rehearse(true)
  local _ <close> = setmetatable({}, ending)
  return f(...)
end

-- make(...) with what it makes on meta.
function rehearsal.on_meta(make, ...)
  return rille.device("meta", make, ...)
end

-- What code asks of meta that has no answer there: values, or a tensor that is elsewhere.
function rehearsal.is_refused(err)
  if type(err) ~= "table" then return false end
  return err.code == "E_NO_KERNEL"
    or err.code == "E_DEVICE_MISMATCH" and tostring(err.message):find("meta", 1, true) ~= nil
end

-- A scope in which an error of that kind gets a hint: `values` where values are asked for,
-- `elsewhere` where a tensor is not on meta.
function rehearsal.hints(values, elsewhere)
  return setmetatable({}, { __close = function(_, err)
    if not rehearsal.is_refused(err) then return end
    err.hint = err.code == "E_NO_KERNEL" and values or elsewhere
    err.text = tostring(err):gsub("\n     hint: [^\n]*$", "") .. "\n     hint: " .. err.hint
  end })
end

-- Bytes in use, the most there were, additions and multiplications.
rehearsal.figures = native.rehearsed
rehearsal.from_here = native.rehearse_from_here

return rehearsal
