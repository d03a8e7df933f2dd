-- rille.checkpoint, rille.checkpointer, rille.checkpoint_sequential: blocks whose activations are
-- let go of and computed again for backward (docs/memory.md).
local check = require "rille.check"
local fail = require "rille.fail"
local read_options = require "rille.options"
local run = require "rille.checkpoint.run"

local known = {
  { "determinism", "default", type = '"none"|"default"|"values"',
    doc = "what both runs must agree in: nothing, the kinds of saved values, or their elements" },
  { "preserve_rng", true, doc = "the second run draws the random numbers of the first" },
  { "early_stop", true, doc = "the second run ends with the last value that backward needs" },
  { "reentrant", false, doc = "one node for the block, as old PyTorch scripts have it" },
  { "verify_every", type = "integer", min = 1,
    doc = "each so-manieth call compares elements, as determinism = 'values' does" },
}

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
  if not o.reentrant then return end
  for _, name in ipairs { "determinism", "early_stop", "verify_every" } do
    local default = plain[name]
    if o[name] ~= default then
      fail.option("checkpointer", "'%s' does not go with reentrant = true", name)
    end
  end
end

-- A function like rille.checkpoint, with options.
--: options?: table -> fun(fn: fun(...: any): any, ...: any): any
local function checkpointer(options)
  local o = read_options("checkpointer", options, known)
  check_reentrant(o)
  local calls = 0
  return function(fn, ...)
    check_function("checkpointer", fn)
    if o.reentrant then return run.reentrant(o, fn, ...) end
    calls = calls + 1
    if not o.verify_every or calls % o.verify_every ~= 0 then return run.block(o, fn, ...) end
    return run.block(setmetatable({ determinism = "values" }, { __index = o }), fn, ...)
  end
end

-- The modules one after the other, in so many segments of equal length, of which all but the last
-- are blocks; the last takes the rest. Raises E_ARG for segments outside of 1 .. #modules.
--: modules: rille.nn.Module[], segments: integer, ...: any -> any
local function checkpoint_sequential(modules, segments, ...)
  local op = "checkpoint_sequential"
  check(op, "modules", modules, { type = "table" })
  local count = #modules
  check(op, "segments", segments, { type = "integer", min = 1, max = count })
  for i = 1, count do check(op, "modules", modules[i], { type = "fun" }) end
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
