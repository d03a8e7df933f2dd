-- Scopes that switch a mode of the engine: rille.no_grad, enable_grad, inference; and others'
-- through scope_of. Without a function they give a <close> value, with one they run it and return
-- its results; both end on errors and `break` too.
local check = require "rille.check"
local native = require "rille.native"
local read_options = require "rille.options"

local Scope = { __name = "Scope" }

local function restore(scope)
  if scope.ended then return end
  for name, before in pairs(scope.before) do native.mode(name, before) end
  scope.ended = true
end

-- In inference mode nothing is recorded, inside of enable_grad neither.
local function allowed(name, on)
  if name == "grad" and native.mode "inference" then return false end
  return on
end

local function enter(scope)
  for name, on in pairs(scope.wanted) do
    scope.before[name] = native.mode(name)
    native.mode(name, allowed(name, on))
  end
end

Scope.__close = restore

-- A scope that was never closed, or was stopped while it closed (Ctrl-C of a stock interpreter may
-- fall anywhere). Modes belong to a coroutine: the one that is running may be another than the
-- scope's; and what is no longer as the scope left it was put right by somebody else.
function Scope.__gc(scope)
  if scope.ended then return end
  for name, before in pairs(scope.thread == coroutine.running() and scope.before or {}) do
    if native.mode(name) == scope.wanted[name] then native.mode(name, before) end
  end
  if not scope.where then return end -- of a function that a dropped coroutine never ended
  warn(("%s: a scope of rille.%s was never closed; it needs `local _ <close> =`"):format(
    scope.where, scope.name))
end

-- Nothing for the library's own, which close theirs: only a stop can keep them from it.
local function line_of_caller()
  local info = debug.getinfo(3, "Sl")
  if info and info.source:sub(1, 7) == "@rille:" then return nil end
  return info and ("%s:%d"):format(info.short_src, info.currentline) or "?"
end

-- `wanted` is a table of modes and what they are inside the scope.
local function scope_of(name, wanted)
  wanted = native.shared(wanted)
  return function(f, ...)
    if f ~= nil and type(f) ~= "function" then check(name, "fn", f, { type = "fun" }) end
    local scope = setmetatable({
      name = name, wanted = wanted, before = {}, thread = coroutine.running(),
    }, Scope)
    if not f then
      scope.where = line_of_caller()
      enter(scope)
      return scope
    end
    local _ <close> = scope
    enter(scope)
    return f(...)
  end
end

local anomaly_options = { { "check_nan", true }, { "check_inf", false } }

-- rille.debugging.detect_anomaly([{ check_nan, check_inf }][, fn, ...])
local function detect_anomaly(...)
  local first = ...
  local given = type(first) == "table" and not (getmetatable(first) or {}).__call
  local o = read_options("detect_anomaly", given and first or nil, anomaly_options)
  local scope = scope_of("detect_anomaly", {
    anomaly = true, anomaly_no_nan = not o.check_nan, anomaly_inf = o.check_inf,
  })
  if given or first == nil then return scope(select(2, ...)) end
  return scope(...)
end

-- What autograd saves passes through pack, and through unpack when backward wants it.
local function saved_tensors(pack, unpack, f, ...)
  if f ~= nil then check("saved_tensors", "fn", f, { type = "fun" }) end
  local hooks = native.saved_tensors(pack, unpack)
  local function close() hooks:close() end
  local scope = setmetatable({}, { __name = "Scope", __close = close })
  if not f then return scope end
  local _ <close> = scope
  return f(...)
end

-- What autograd saves waits in main memory.
local function save_on_cpu(f, ...)
  local function pack(t) return { t:to "cpu", t.device } end
  local function unpack(kept) return kept[1]:to(kept[2]) end
  return saved_tensors(pack, unpack, f, ...)
end

return {
  scope_of = scope_of,
  saved_tensors = saved_tensors,
  save_on_cpu = save_on_cpu,
  no_grad = scope_of("no_grad", { grad = false }),
  enable_grad = scope_of("enable_grad", { grad = true }),
  detect_anomaly = detect_anomaly,
  inference = scope_of("inference", { grad = false, inference = true }),
}
