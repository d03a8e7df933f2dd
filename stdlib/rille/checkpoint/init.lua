-- rille.checkpoint, rille.checkpointer, rille.checkpoint_sequential: blocks whose activations are
-- let go of and computed again for backward (docs/memory.md).
local native = require "rille.native"
local budget = require "rille.checkpoint.budget"
local check = require "rille.check"
local fail = require "rille.fail"
local read_options = require "rille.options"
local run = require "rille.checkpoint.run"

local known = {
  { "policy", type = "string|table|fun",
    doc = "which results are kept: 'full' (none), 'cheap', 'alternate_mm', 'every_n', 'budget', a "
      .. "list of ops, { save, recompute, offload } of such, or a function of a result" },
  { "budget", type = "number", above = 0,
    doc = "with policy = 'budget': a share of what a plain call keeps, or bytes of each block" },
  { "n", type = "integer", min = 1, doc = "with policy = 'every_n': each n-th call is a block" },
  { "offload", type = '"disk"', doc = "where offloaded results and inputs wait" },
  { "offload_dir", type = "string", doc = "a folder for that; $TMPDIR or /tmp without" },
  { "allow_mutation", false, doc = "kept results may be written to in place" },
  { "determinism", "default", type = '"none"|"default"|"values"',
    doc = "what both runs must agree in: nothing, the kinds of saved values, or their elements" },
  { "preserve_rng", true, doc = "the second run draws the random numbers of the first" },
  { "early_stop", true, doc = "the second run ends with the last value that backward needs" },
  { "verify_every", type = "integer", min = 1,
    doc = "each so-manieth call compares elements, as determinism = 'values' does" },
  { "reentrant", false, doc = "one node for the block, as old PyTorch scripts have it" },
}

local op = "checkpointer"
local plain = { determinism = "default", preserve_rng = true, early_stop = true }

local function check_function(op, f)
  return check(op, "fn", f, { type = "fun" })
end

-- fn(...), whose activations are let go of. Backward runs fn a second time, with the same
-- arguments, random numbers, modes and buffers, when it needs the first of them. Arguments and
-- results may be any values; tensors in plain tables count. Without grad mode a plain call.
-- Raises E_CKPT_COUNT, E_CKPT_META, E_CKPT_MUTATED in backward where the runs differ.
-- Source: Chen et al., Training deep nets with sublinear memory cost, 2016.
--: fn: fun(...: any): any, ...: any -> any
local function checkpoint(fn, ...)
  return run.block(plain, check_function("checkpoint", fn), ...)
end

local function check_reentrant(o)
  for _, entry in ipairs(known) do
    local name = entry[1]
    if name ~= "reentrant" and name ~= "preserve_rng" and o[name] ~= entry[2] then
      fail.option(op, "'%s' does not go with reentrant = true", name)
    end
  end
end

local presets = { full = true, cheap = true, alternate_mm = true, every_n = true, budget = true }
local parts = { save = true, recompute = true, offload = true }

local function named_ops(policy)
  if #policy > 0 then return { save = policy } end
  for name in pairs(policy) do
    if not parts[name] then
      fail.unknown(op, "part of policy", name, { "save", "recompute", "offload" })
    end
  end
  return policy
end

-- The engine's form of a policy that is the same for all blocks; nil for those that are none.
local function engine_policy(policy)
  if type(policy) == "table" and getmetatable(policy) == nil then
    return native.selection(named_ops(policy))
  elseif type(policy) == "function" or type(policy) == "table" then
    return native.selection(function(...) return policy(...) end)
  elseif policy and not presets[policy] then
    fail.unknown(op, "policy", policy, { "full", "cheap", "alternate_mm", "every_n", "budget" })
  elseif policy == "cheap" or policy == "alternate_mm" then
    return native.selection(policy)
  end
end

local function check_goes_with(o, name, policy)
  if o[name] ~= nil and o.policy ~= policy then
    fail.option(op, "'%s' goes with policy = '%s'", name, policy)
  elseif o[name] == nil and o.policy == policy then
    fail.argument(op, "policy = '%s' needs '%s'", policy, name)
  end
end

local function prepared(options)
  local o = read_options(op, options, known)
  if o.reentrant then
    check_reentrant(o)
    return o
  end
  check_goes_with(o, "budget", "budget")
  check_goes_with(o, "n", "every_n")
  if o.offload_dir and not o.offload then
    fail.option(op, "'offload_dir' goes with offload = 'disk'")
  end
  o.given, o.policy = o.policy, engine_policy(o.policy)
  if o.offload then
    o.spill = native.spill_file(o.offload_dir)
    o.spill_inputs = o.given == nil or o.given == "full"
  end
  return o
end

-- A function like rille.checkpoint, with options; and a function that reports, for policy =
-- "budget", what was chosen.
--: options?: table -> fun(fn: fun(...: any): any, ...: any): any
local function checkpointer(options)
  local o = prepared(options)
  local calls, plans = 0, o.given == "budget" and budget.new(o) or nil
  local function block(fn, ...)
    check_function(op, fn)
    if o.reentrant then return run.reentrant(o, fn, ...) end
    calls = calls + 1
    if o.n and calls % o.n ~= 0 then return fn(...) end
    local verified = o.verify_every and calls % o.verify_every == 0
    if not verified and not plans then return run.block(o, fn, ...) end
    local own = setmetatable({ determinism = verified and "values" or nil, plans = plans },
      { __index = o })
    return run.block(own, fn, ...)
  end
  return block, function() return plans and plans.report() or {} end
end

-- The modules one after the other, in so many segments of equal length, of which all but the last
-- are blocks; the last takes the rest. Raises E_ARG for segments outside of 1 .. #modules.
--: modules: rille.nn.Module[], segments: integer, ...: any -> any
local function checkpoint_sequential(modules, segments, ...)
  local name = "checkpoint_sequential"
  check(name, "modules", modules, { type = "table" })
  local count = #modules
  check(name, "segments", segments, { type = "integer", min = 1, max = count })
  for i = 1, count do check(name, "modules", modules[i], { type = "fun" }) end
  local length = count // segments
  local function part(first, last)
    return function(...)
      local given = table.pack(...)
      for i = first, last do given = table.pack(modules[i](table.unpack(given, 1, given.n))) end
      return table.unpack(given, 1, given.n)
    end
  end
  local given = table.pack(...)
  for i = 1, segments - 1 do
    local f = part((i - 1) * length + 1, i * length)
    given = table.pack(checkpoint(f, table.unpack(given, 1, given.n)))
  end
  return part((segments - 1) * length + 1, count)(table.unpack(given, 1, given.n))
end

return {
  checkpoint = checkpoint, checkpointer = checkpointer,
  checkpoint_sequential = checkpoint_sequential, known = known,
}
