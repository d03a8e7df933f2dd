-- The training loop of a recipe: steps, metrics, evaluations, checkpoints, signals.
local rille = require "rille"
local native = require "rille.native"
local evaluate = require "rille.recipe.evaluate"
local log = require "rille.log"
local loss_of = require "rille.recipe.loss"
local mixed = require "rille.recipe.mixed"
local nonfinite = require "rille.recipe.nonfinite"
local state = require "rille.recipe.state"
local step_end = require "rille.step"
local Stream = require "rille.recipe.stream"

local exit_status = { SIGINT = 130, SIGTERM = 143 }

local function call(run, name, ...)
  local on = run.fields.on
  if on and on[name] then on[name](run.self, ...) end
end

local function size_text(bytes)
  local mib = bytes / 2 ^ 20
  return mib >= 1024 and ("%.1f GiB"):format(mib / 1024) or ("%.0f MiB"):format(mib)
end

local function is_time(step, every)
  return every ~= nil and every > 0 and step % every == 0
end

-- One optimizer step over `accumulate` batches; returns the mean loss and the units seen.
local function train_step(run, step)
  local self, accumulate = run.self, run.fields.accumulate or 1
  local loss_sum, units = 0.0, 0
  for _ = 1, accumulate do
    local batch = run.stream:next(run.device)
    local n, unit = Stream.units(batch)
    units, run.unit = units + n, unit
    local loss = mixed.within(run, loss_of, self, batch)
    local value = loss:item()
    loss_sum = loss_sum + value
    if value - value ~= 0 and nonfinite.leaves_out(run, value, step) then
      self.optimizer:zero_grad()
      return loss_sum / accumulate, units
    end
    if accumulate > 1 then loss = loss / accumulate end
    mixed.backward(run, loss)
  end
  local norm = mixed.step(run)
  if self.schedule and self.schedule.at then self.schedule:step() end
  self.optimizer:zero_grad()
  run.nonfinite.in_a_row = 0
  return loss_sum / accumulate, units, norm
end

-- A disk that fails ends the run, or, if the recipe says so, is told of: the next save tries again,
-- and the last one must succeed.
local function write(run, must, method, ...)
  local folder = run.folder
  local s = run.fields.save
  if must or not s or s.on_error ~= "continue" then return folder[method](folder, ...) end
  local ok, one, other = pcall(folder[method], folder, ...)
  if ok then return one, other end
  if one.code ~= "E_IO" then error(one, 0) end
  run.saved = nil
  run.bar:hide()
  io.stderr:write(("warning: %s; training goes on\n"):format(native.reported(one.message)))
end

-- Tells of a save in the background that has become durable.
local function tell_saved(run, wait, must)
  if not run.folder then return end
  local step, path = write(run, must, "finished", wait)
  if not step then return end
  run.save_took = native.clock() - run.save_began
  call(run, "save", path, step)
end

local function save(run, step, must)
  if not run.folder then return nil end
  nonfinite.check_save(run, step)
  tell_saved(run, true)
  run.saved = step
  run.save_began = native.clock()
  local path = write(run, must, "save", run, step)
  if not path then return end
  run.save_took = native.clock() - run.save_began
  call(run, "save", path, step)
end

-- Whether a save would end before a scheduler that has sent SIGTERM kills. It has sent it in this
-- step or later; a save takes as long as the one before.
local function has_time(run, signal)
  local s = run.fields.save
  if signal ~= "SIGTERM" or not s or not s.grace or not run.save_took then return true end
  return native.clock() - run.step_began + run.save_took < s.grace
end

local function record(run, values)
  if run.folder then run.folder:record(values) end
end

-- A line of metrics for the steps since the one before.
local function record_step(run, step, loss, norm)
  local now = native.clock()
  local seconds, steps = now - run.since, step - run.recorded
  local line = {
    step = step, loss = loss, lr = run.lr, step_ms = 1000 * seconds / steps,
    peak_bytes = rille.memory.peak(), norm = norm and norm:item(),
    skipped = run.nonfinite.skipped > 0 and run.nonfinite.skipped or nil,
  }
  line[run.unit == "tok" and "tokens_per_s" or "samples_per_s"] = run.units / seconds
  for name, value in pairs(run.logged) do line[name] = value end
  record(run, line)
  run.since, run.recorded, run.units, run.logged = now, step, 0, {}
end

local function evaluate_now(run, step, loss)
  local began = native.clock()
  local val_loss, text = evaluate(run)
  local schedule = run.self.schedule
  if schedule and not schedule.at then schedule:step(val_loss) end       -- Plateau
  record(run, { step = step, val_loss = val_loss })
  run.bar:note { val_loss = val_loss }
  run.bar:hide()
  print(("step %d  loss %.4f  val_loss %.4f"):format(step, loss, val_loss))
  if text then print(text) end
  call(run, "evaluate", val_loss, step)
  run.since = run.since + native.clock() - began
end

local function stop_for(run, signal, step)
  local saved = ""
  if run.folder and has_time(run, signal) then
    if run.saved ~= step then save(run, step, true) end
    tell_saved(run, true, true)
    saved = "; saved " .. run.folder.checkpoints:path(step)
  elseif run.folder then
    saved = ("; not saved: that took %.3g s and save.grace is %g s"):format(
      run.save_took, run.fields.save.grace)
  end
  run.bar:close()
  io.stderr:write(("stopped by %s after step %d%s\n"):format(signal, step, saved))
  return exit_status[signal] or 130
end

local function one(run, step)
  run.step_began = native.clock()
  run.lr = run.self.optimizer.groups[1].lr
  local loss, units, norm = train_step(run, step)
  run.units = run.units + units
  run.bar.unit = run.unit
  run.bar:note { loss = loss }
  run.bar:advance(units)
  call(run, "step", loss, step)
  step_end()
  if step == run.first then state.check_fields(run) end
  local last = step == run.steps
  local every = run.fields.log and run.fields.log.every or 10
  if step == run.first or last or is_time(step, every) then record_step(run, step, loss, norm) end
  local e = run.fields.evaluate
  if e and (last or is_time(step, e.every)) then evaluate_now(run, step, loss) end
  local s = run.fields.save
  if last or s and is_time(step, s.every) then
    save(run, step, last)
  else
    tell_saved(run)
  end
end

-- Runs the steps first .. steps; returns the exit status.
return function(run)
  run.since, run.recorded, run.units, run.logged = native.clock(), run.first - 1, 0, {}
  local _ <close> = setmetatable({}, {
    __close = function()
      log.attach(nil)
      run.bar:close()
      native.release_signals()
    end,
  })
  log.attach { log = function(_, values)
    for name, value in pairs(values) do run.logged[name] = value end
  end }
  run.bar:note {                         -- after the loss; asked for when the line is drawn
    loss = "-", lr = function() return run.lr or "-" end,
    memory = function() return size_text(rille.memory.peak()) end,
  }
  native.signal()                        -- from here on a first signal waits for the end of a step
  for step = run.first, run.steps do
    one(run, step)
    local signal = native.signal()
    if signal then return stop_for(run, signal, step) end
  end
  tell_saved(run, true, true)
  return 0
end
