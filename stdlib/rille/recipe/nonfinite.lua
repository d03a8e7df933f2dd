-- Losses that are nan or infinite, and what they would spoil. By the recipe's `on_nonfinite` such a
-- step ends the run ("error"), is left out ("skip") or is only told of ("warn"); but for the last,
-- no checkpoint with a value that is none is written, so that the newest one is good.
local fail = require "rille.fail"
local objects = require "rille.recipe.objects"
local parameter = require "rille.parameter"

local nonfinite = {}

local most = 10                                          -- steps in a row that "skip" leaves out

-- The sign of nan says nothing.
local function show(loss)
  return loss ~= loss and "nan" or ("%g"):format(loss)
end

local function policy(run)
  return run.fields.on_nonfinite or "error"
end

local function newest(run)
  if not run.folder then return nil end
  pcall(run.folder.finished, run.folder, true)
  local step = run.folder.checkpoints:steps()[1]
  return step and run.folder.checkpoints:path(step)
end

local function stop(run, message, ...)
  local path = newest(run)
  fail.raise {
    kind = "state", code = "E_NONFINITE", op = "recipe", message = message:format(...),
    facts = { path and ("the newest good checkpoint is '%s'"):format(path)
      or "no checkpoint was written" },
    hint = "rille.debugging.detect_anomaly names the op; see also on_nonfinite",
  }
end

local function warn(run, message, ...)
  run.bar:hide()
  io.stderr:write("warning: ", message:format(...), "\n")
end

-- For a loss that is no number: whether the step is left out.
function nonfinite.leaves_out(run, loss, step)
  local how = policy(run)
  loss = show(loss)
  if how == "error" then stop(run, "the loss of step %d is %s", step, loss) end
  local count = run.nonfinite
  if how == "warn" then
    if not count.told then warn(run, "the loss of step %d is %s; training goes on", step, loss) end
    count.told = true
    return false
  end
  count.skipped, count.in_a_row = count.skipped + 1, count.in_a_row + 1
  if count.in_a_row >= most then
    stop(run, "the loss of step %d is %s, as in the %d steps before", step, loss, most - 1)
  end
  warn(run, "the loss of step %d is %s; the step is left out", step, loss)
  return true
end

local function has(t, ask)
  return t.dtype:match "^b?f" ~= nil and ask(t):any():item()
end

local function is_bad(t) return t:isfinite():logical_not() end
local function is_nan(t) return t:isnan() end

-- Before a save: parameters have to be finite; a buffer may hold infinities, as a mask does.
function nonfinite.check_save(run, step)
  if policy(run) == "warn" then return end
  for i, t in ipairs(run.parameters) do
    if has(t, is_bad) then
      local name = parameter.name(t) or "params[" .. i .. "]"
      stop(run, "the parameter '%s' isn't finite after step %d", name, step)
    end
  end
  for _, module in ipairs(objects.modules(run.self)) do
    for name, t in module:named_buffers() do
      if has(t, is_nan) then stop(run, "the buffer '%s' holds nan after step %d", name, step) end
    end
  end
end

return nonfinite
