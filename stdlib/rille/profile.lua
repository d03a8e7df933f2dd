-- rille.profile: where the time goes. `time(fn, ...)` calls fn once and returns the seconds it took
-- (monotonic) and its results; wrap the part of a recipe that seems slow.
local native = require "rille.native"
local check = require "rille.check"
local read_only = require "rille.read_only"

local profile = {}

local function since(start, ...)
  return native.clock() - start, ...
end

--: fn: fun(...): any, ...: any -> number, any
function profile.time(fn, ...)
  check("time", "fn", fn, { type = "fun" })
  return since(native.clock(), fn(...))
end

return read_only("rille.profile", profile)
