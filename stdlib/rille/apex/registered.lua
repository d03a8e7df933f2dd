-- Functions of a script that O1 casts around: amp.register_half_function(t, "name") before
-- amp.initialize. In `rille` itself the names are ops, whose rule it becomes.
local rille = require "rille"
local fail = require "rille.fail"
local run_state = require "rille.run_state"
local values = require "rille.apex.values"

local registered = {}

local wanted = run_state {}                        -- { table, name, policy }, in order
local patched = run_state {}                       -- { table, name, what stood there }

local ranks = { bf16 = 1, f16 = 1, f32 = 2, f64 = 3 }

local function widest(...)
  local dtype, rank = "f16", 0
  local function see(t)
    local mine = ranks[t.dtype] or 0
    if mine == rank and dtype ~= t.dtype then
      dtype, rank = "f32", 2
    elseif mine > rank then
      dtype, rank = t.dtype, mine
    end
    return t
  end
  for i = 1, select("#", ...) do values.map((select(i, ...)), see) end
  return dtype
end

local to_half, to_float = values.caster "f16", values.caster "f32"

local around = {
  lower = function(f)
    return function(...) return f(to_half(...)) end
  end,
  f32 = function(f)
    return function(...) return f(to_float(...)) end
  end,
  widest = function(f)
    return function(...) return f(values.caster(widest(...))(...)) end
  end,
}

local function register(op, policy)
  return function(t, name)
    if type(t) ~= "table" then fail.type(op, "module", "a table", t) end
    if type(name) ~= "string" then fail.type(op, "name", "a string", name) end
    if type(t[name]) ~= "function" then
      fail.argument(op, "there is no function '%s' in it", name)
    end
    wanted[#wanted + 1] = { t, name, policy }
  end
end

-- The function in the field `name` of a table runs in f16 under O1.
--: module: table, name: string
registered.register_half_function = register("register_half_function", "lower")

-- The function in the field `name` of a table runs in f32 under O1.
--: module: table, name: string
registered.register_float_function = register("register_float_function", "f32")

-- The function in the field `name` of a table runs in the widest dtype of its arguments under O1.
--: module: table, name: string
registered.register_promote_function = register("register_promote_function", "widest")

-- Puts back what stood in the tables.
function registered.restore()
  for i = #patched, 1, -1 do
    local t, name, f = table.unpack(patched[i])
    t[name] = f
    patched[i] = nil
  end
end

-- Casts around the registered functions; adds those that are ops to `rules`.
function registered.patch(rules)
  for _, entry in ipairs(wanted) do
    local t, name, policy = table.unpack(entry)
    if rawequal(t, rille) then
      rules[name] = policy
    else
      patched[#patched + 1] = { t, name, t[name] }
      t[name] = around[policy](t[name])
    end
  end
  return rules
end

return registered
