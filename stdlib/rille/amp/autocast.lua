-- rille.amp.autocast { device, dtype, enabled, cache, policy, rules, lenient } [, fn, ...]: a scope
-- in which ops take their arguments in the dtype that suits them. The engine does that by each op's
-- policy (runtime/ops/autocast.h); a scope is a mode, as rille.no_grad is one.
local native = require "rille.native"
local rille = require "rille"
local check = require "rille.check"
local explained = require "rille.amp.explained"
local modes = require "rille.modes"
local read_only = require "rille.read_only"
local read_options = require "rille.options"

local autocast = {}

local known = {
  { "device", type = "string", doc = "whose tensors; default: the default device" },
  { "dtype", type = "string", doc = "f16 or bf16; default: f16 on cuda, else bf16" },
  { "enabled", true, doc = "false: off, inside a scope that is on" },
  { "cache", true, doc = "each weight is cast once, not at each use" },
  { "policy", "cuda", type = '"cuda"|"torch-cpu"', doc = "whose lists of ops" },
  { "rules", type = "table", doc = "policies by the names of ops, over the lists" },
  { "lenient", false, doc = "a dtype that can't be switches the scope off, without an error" },
}

local warned = require "rille.run_state" {}

-- What is said of a scope that does nothing: once, for it may stand in a loop.
local function warn_once(text)
  if warned[text] then return end
  warned[text] = true
  warn("amp.autocast: " .. text)
end

-- Opens scopes with these options: without a function one to be closed, with one it runs it.
local function opener(options)
  options.device = options.device or rille.default_device()
  local bits, warning = native.autocast_inside(options)
  if warning then warn_once(warning) end
  return modes.scope_of("amp.autocast", { autocast = bits })
end

-- A scope, to be kept in a local variable that is <close>; with a function, what that returns.
--: options?: rille.amp.autocast.options, fn?: fun(...): any, ...: any -> any
local function call(_, options, fn, ...)
  local given = read_options("autocast", options, known)
  return opener(given)(fn, ...)
end

-- Whether ops of a device are cast here, and to which dtype.
--: device?: string -> boolean, string?
function autocast.active(device)
  device = device or rille.default_device()
  check("autocast.active", "device", device, { type = "string" })
  return native.autocast_active(device)
end

-- The function, in a scope of its own at each call.
--: options: rille.amp.autocast.options, fn: fun(...): any -> fun(...): any
function autocast.wrap(options, fn)
  check("autocast.wrap", "fn", fn, { type = "fun()" })
  local given = read_options("autocast.wrap", options, known)
  return function(...) return opener(given)(fn, ...) end
end

-- Every op that fn(...) calls with the dtype it got and why: a list that prints as a table. Outside
-- of a scope one with the defaults is opened.
--: fn: fun(...): any, ...: any -> table
function autocast.explain(fn, ...)
  check("autocast.explain", "fn", fn, { type = "fun()" })
  local run = autocast.active() and fn or autocast.wrap({}, fn)
  local watch = native.watch_autocast()
  local _ <close> = setmetatable({}, { __close = function() watch:stop() end })
  run(...)
  return explained(watch:stop())
end

-- Casts that scopes have made so far: all, weights that were kept, and how often those served.
--: -> table
function autocast.counts()
  local casts, weights, reused = native.autocast_counts()
  return { casts = casts, weights = weights, reused = reused }
end

-- The same as a plain function, for those that refuse callable tables.
--: options?: rille.amp.autocast.options, fn?: fun(...): any, ...: any -> any
function autocast.call(options, fn, ...)
  local given = read_options("autocast", options, known)
  return opener(given)(fn, ...)
end

return read_only("rille.amp.autocast", setmetatable(autocast, { __call = call }))
