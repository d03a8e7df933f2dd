-- rille.step([fn]): the end of a training step, where hosts, reloading and signals have their
-- turn. With a function it runs that first and returns its results.
local native = require "rille.native"
local check = require "rille.check"

local function ended(...)
  native.step()
  return ...
end

return function(fn, ...)
  if fn == nil then return ended() end
  check("step", "fn", fn, { type = "fun" })
  return ended(fn(...))
end
