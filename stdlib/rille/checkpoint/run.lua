-- Both runs of a checkpoint block. The first is an ordinary call inside of a scope; the second has
-- a coroutine of its own, which the engine suspends once backward has all that it wants
-- (interpreter/lua/second_run.h).
local native = require "rille.native"
local fail = require "rille.fail"
local values = require "rille.checkpoint.values"

local run = {}

-- For errors of the function there is nothing to add: they pass as they are.
local function second(f, list, form)
  local given = values.put_together(form, list)
  local co = coroutine.create(function()
    native.second_run_begins()
    return f(table.unpack(given, 1, given.n))
  end)
  local results = table.pack(coroutine.resume(co))
  local early = native.second_run_ended()
  if coroutine.status(co) == "suspended" then
    local fine, err = coroutine.close(co)
    if not fine then error(err, 0) end
    if not early then
      fail.state("checkpoint", "the block yields in its second run, which nobody resumes")
    end
    return
  end
  if not results[1] then error(results[2], 0) end
  local _, outs = values.take_apart({ n = results.n - 1, table.unpack(results, 2, results.n) })
  return table.unpack(outs)
end

local function ended(scope) scope.hook:close() end

local First = { __name = "Scope", __close = ended, __gc = ended }

local function call_within(scope, f, ...)
  local _ <close> = scope
  return f(...)
end

-- By now the function's own variables are gone.
local function finish(...)
  native.block_ended()
  return ...
end

-- f(...) as a block. `o` holds determinism, preserve_rng, early_stop, and may hold policy, spill,
-- spill_inputs, allow_mutation, and plans, which give each call its policy.
function run.block(o, f, ...)
  local form, tensors = values.take_apart(table.pack(...))
  local hook = native.block_begin(function(list) second(f, list, form) end, tensors, {
    determinism = o.determinism, preserve_rng = o.preserve_rng, early_stop = o.early_stop,
    policy = o.plans and o.plans.policy(f, tensors) or o.policy,
    spill = o.spill, spill_inputs = o.spill_inputs, allow_mutation = o.allow_mutation,
  })
  if not hook then return f(...) end
  return finish(call_within(setmetatable({ hook = hook }, First), f, ...))
end

local function refuse_tables(packed)
  for i = 1, packed.n do
    if type(packed[i]) == "table" and getmetatable(packed[i]) == nil then
      fail.raise {
        kind = "argument", code = "E_ARG", op = "checkpoint",
        message = ("a reentrant block takes no tables, got one as argument %d"):format(i),
        hint = "without reentrant = true a block takes any values",
      }
    end
  end
end

-- f(...) in the reentrant form.
function run.reentrant(o, f, ...)
  local given = table.pack(...)
  refuse_tables(given)
  local form, tensors = values.take_apart(given)
  local results
  local function first()
    local made = table.pack(f(table.unpack(given, 1, given.n)))
    local outs
    results, outs = values.take_apart(made)
    return table.unpack(outs)
  end
  local outs = table.pack(native.block_reentrant(first,
    function(list) return second(f, list, form) end, tensors, o.preserve_rng))
  local whole = values.put_together(results, outs)
  return table.unpack(whole, 1, whole.n)
end

return run
