-- Settings of the engine from scripts: rille.backends (a table to assign to), use_deterministic,
-- device, strict.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local fail = require "rille.fail"
local host = require "rille.host"
local run_state = require "rille.run_state"

local settings = {}

-- ---- rille.device

local function put_back(scope)
  if scope.ended then return end
  scope.ended = true
  rille.default_device(scope.before)
end

-- rille.device("cpu:1"[, fn, ...]): new tensors are made there inside the scope.
function settings.device(name, f, ...)
  if type(name) ~= "string" then fail.type("device", "device", "a device such as 'cpu'", name) end
  if f ~= nil then check("device", "fn", f, { type = "fun" }) end
  local before = rille.default_device()
  rille.default_device(name)
  local scope = setmetatable({ before = before }, { __name = "Scope", __close = put_back })
  if not f then return scope end
  local _ <close> = scope
  return f(...)
end

-- ---- rille.backends and determinism

local values = run_state { benchmark = false, matmul_precision = "highest" }
local precisions = { highest = true, high = true, medium = true }

local function conflict()
  fail.raise {
    kind = "state", code = "E_CONFLICT", op = "backends",
    message = "'benchmark' picks the fastest kernel of the moment, 'deterministic' always the same",
  }
end

local setters = {}

function setters.deterministic(on)
  if type(on) ~= "boolean" then fail.type("use_deterministic", "on", "true or false", on) end
  if on and values.benchmark then conflict() end
  native.mode("deterministic", on)
end

-- Times the algorithms of a convolution once a shape, where the device has several.
function setters.benchmark(on)
  if type(on) ~= "boolean" then fail.type("backends", "benchmark", "true or false", on) end
  if on and native.mode "deterministic" then conflict() end
  values.benchmark = on
end

-- What an f32 product may be computed in; the CPU always gives the highest.
function setters.matmul_precision(word)
  if not precisions[word] then
    fail.type("backends", "matmul_precision", "'highest', 'high' or 'medium'", word)
  end
  values.matmul_precision = word
end

local names = { "benchmark", "deterministic", "matmul_precision" }

settings.backends = setmetatable({}, {
  __name = "rille.backends",
  __index = function(_, name)
    if name == "deterministic" then return native.mode "deterministic" end
    if values[name] == nil then fail.unknown("backends", "setting", tostring(name), names) end
    return values[name]
  end,
  __newindex = function(_, name, value)
    if not setters[name] then fail.unknown("backends", "setting", tostring(name), names) end
    setters[name](value)
  end,
  __pairs = function(self)
    local i = 0
    return function()
      i = i + 1
      if names[i] then return names[i], self[names[i]] end
    end
  end,
})

-- The same bits whatever the number of threads is. Without it they are the same from run to run
-- with one number of threads.
function settings.use_deterministic(on)
  setters.deterministic(on == nil or on)
end

-- ---- rille.strict

local guard = { __name = "globals" }

function guard.__newindex(globals, name, value)
  local caller = debug.getinfo(2, "S")
  if caller and caller.what == "Lua" and caller.source:sub(1, 7) ~= "@rille:" then
    fail.argument("strict", "'%s' would be a new global, made inside a function; is a `local` "
      .. "missing?", tostring(name))
  end
  rawset(globals, name, value)
end

local strict = run_state {}               -- chosen: whether the script asked for it

local function guard_globals(on)
  local meta = getmetatable(_G)
  if meta ~= nil and meta ~= guard then return end -- a script's own
  setmetatable(_G, on and guard or nil)
end

-- rille.strict(false) allows new globals inside functions; rille.strict(true) makes errors of them,
-- and of clipping gradients that are still scaled.
function settings.strict(on)
  strict.chosen = on == nil or on
  guard_globals(strict.chosen)
end

-- Did the script ask for it?
function settings.is_strict() return strict.chosen == true end

-- Recipes are strict unless they said otherwise, or the globals are those of a host.
function settings.strict_by_default()
  if strict.chosen == nil and not host.is_stock then guard_globals(true) end
end

return settings
