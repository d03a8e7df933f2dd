-- Going on: which run, which of its checkpoints, whether the arguments are the same.
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"
local Folder = require "rille.recipe.folder"
local arguments = require "rille.recipe.arguments"
local fault = require "rille.recipe.fault"
local settings = require "rille.recipe.settings"
local state = require "rille.recipe.state"

local function unusable(facts, message, ...)
  fail.raise {
    kind = "data", code = facts and "E_CKPT_TORN" or "E_IO", op = "resume", status = 4,
    facts = facts, message = message:format(...),
  }
end

local function say(...)
  io.stderr:write("resume: ", native.reported(string.format(...)), "\n")
end

local function steps_in(path)
  return native.checkpoints(path .. "/checkpoints"):steps()
end

-- The newest run of a recipe under runs/, or nil.
local function newest_run(name)
  local found = {}
  for _, entry in ipairs(native.exists "runs" and native.list "runs" or {}) do
    if entry:sub(1, #name + 1) == name .. "-" and entry:sub(#name + 2):match "^%d+%-%d+" then
      found[#found + 1] = entry
    end
  end
  table.sort(found)
  for i = #found, 1, -1 do
    if steps_in("runs/" .. found[i])[1] then return "runs/" .. found[i] end
  end
end

-- The run's folder (nil: none) and one file, where that was asked for.
local function place(values, name)
  local where = values.resume
  if type(where) == "string" and native.exists(where .. ".safetensors") then
    where = where .. ".safetensors"
  end
  if type(where) == "string" and where:match "%.safetensors$" then
    return where:match "^(.*)/checkpoints/[^/]*$", where
  end
  local path = type(where) == "string" and where or values.out or newest_run(name)
  if not path then unusable(nil, "no run of '%s' with a checkpoint under runs/", name) end
  return path
end

-- The state in a file; or nil, why not, and whether it is the file's fault. One that was renamed to
-- another step would be gone on with from the wrong one.
local function try(file, run)
  local ok, saved = pcall(rille.load, file)
  if not ok then
    local damaged = saved.code == "E_CKPT_TORN" or saved.code == "E_FORMAT"
    return nil, saved.message or tostring(saved), damaged
  end
  local reason, own = fault.of(saved, run)
  local named = math.tointeger(tonumber(file:match "step%-(%d+)%.safetensors$"))
  if not reason and named and named ~= saved.step then
    reason, own = ("it holds step %d, its name says %d"):format(saved.step, named), true
  end
  if reason then return nil, ("'%s': %s"):format(file, reason), own end
  return saved
end

-- A damaged file is kept, under a name that no longer counts: the run is about to write its own.
local function set_aside(folder, file)
  if folder then say("moved to '%s'", folder.checkpoints:quarantine(file)) end
end

-- The newest state that is whole. Says why a newer one is passed over; with `strict` none is.
local function newest(path, run)
  local strict, folder = run.values.strict, run.folder
  local files = native.checkpoints(path .. "/checkpoints")
  local steps, reasons = files:steps(), {}
  if #steps == 0 then unusable(nil, "no checkpoint in '%s'", path) end
  for _, step in ipairs(steps) do
    local file = files:path(step)
    local saved, reason, damaged = try(file, run)
    if saved then return saved end
    reasons[#reasons + 1] = reason
    if strict then unusable(reasons, "the newest checkpoint in '%s' can't be used", path) end
    say("%s", reason)
    if damaged and #steps > #reasons then set_aside(folder, file) end
  end
  unusable(reasons, "no usable checkpoint in '%s'", path)
end

local function one(file, run)
  local saved, reason = try(file, run)
  return saved or unusable(nil, "%s", reason)
end

local function check_arguments(recipe, values, saved)
  local changes = arguments.changes(saved.args, arguments.plain(values), settings.neutral(recipe))
  local name = recipe.fields.name
  if saved.recipe ~= name then
    table.insert(changes, 1, ("the recipe was '%s', is '%s'"):format(saved.recipe, name))
  end
  if #changes == 0 then return end
  if values.force then return say("changed since:\n  %s", table.concat(changes, "\n  ")) end
  fail.raise {
    kind = "state", code = "E_STATE", op = "resume", facts = changes,
    message = "arguments changed since the checkpoint",
    hint = "give the same ones; or --force, and it becomes another run",
  }
end

-- What may change the last bits and can't always be had again.
local function note_machine(saved)
  local exact = native.mode "deterministic"
  local now = {
    version = rille.version, device = rille.default_device(), threads = rille.threads(),
  }
  for _, name in ipairs { "version", "device", "threads" } do
    local before = saved[name]
    if before ~= now[name] and not (name == "threads" and exact) then
      say("%s was %s, is %s: the last bits may differ", name, tostring(before), tostring(now[name]))
    end
  end
end

-- Puts the run where its newest checkpoint stands. The run goes on in that one's folder unless
-- --out names another; a run that only evaluates writes nowhere.
return function(run)
  local values = run.values
  local path, file = place(values, run.fields.name)
  local same = path and not values.eval_only and (not values.out or values.out == path)
  if path and not file and #steps_in(path) == 0 then
    unusable(nil, "no checkpoint in '%s'", path)
  end
  run.folder = same and Folder.open(path, run.fields.save or {}) or nil
  local saved = file and one(file, run) or newest(path, run)
  if not values.eval_only then
    check_arguments(run.recipe, values, saved)
    note_machine(saved)
  end
  state.restore(run, saved)
  run.first = saved.step + 1
  if run.folder then run.folder:rewind(saved.step) end
  io.stderr:write(("resumed at step %d\n"):format(saved.step))
end
