-- rille.scope(): tensors made inside are freed at its end, not when the collector comes by; so is a
-- loop's memory known to the byte. Kept are those given to scope:keep, results of the function
-- form, and parameters. Nothing needs it for correctness.
--   local scope <close> = rille.scope()
--   local mean = rille.scope(function() return (x * x):mean() end)
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"
local fail = require "rille.fail"

local Scope = class "Scope"

local deepest = 64

local function keep(value, depth)
  if native.is_tensor(value) then
    native.scope_keep(value)
  elseif type(value) == "table" and depth < deepest then
    for _, part in next, value do keep(part, depth + 1) end
  end
end

-- These, and what tables of them hold, outlive the scope; returns them.
function Scope:keep(...)
  if self.ended then fail.state("scope", "keep after the scope has ended") end
  for i = 1, select("#", ...) do keep(select(i, ...), 1) end
  return ...
end

local function finish(scope)
  if scope.ended then return end
  scope.ended = true
  native.scope_end(scope.began)
end

Scope.__close = finish

-- Runs f outside of any scope: for what lives longer than the step that makes it.
local function lasting(f, ...)
  local before = native.scope_pause(true)
  local _ <close> = setmetatable({}, { __close = function() native.scope_pause(before) end })
  return f(...)
end

local function scope(f, ...)
  if f ~= nil then check("scope", "fn", f, { type = "fun" }) end
  local new = setmetatable({ began = native.scope_begin() }, Scope)
  if not f then return new end
  local _ <close> = new
  return new:keep(f(...))
end

return { scope = scope, lasting = lasting }
