-- A run's folder: config.json, metrics.jsonl, a copy of the recipe, and checkpoints, of which the
-- newest is also `last`. Everything but metrics is written whole or not at all. Whoever writes into
-- it holds its LOCK, which ends with the process.
local native = require "rille.native"
local class = require "rille.class"
local fail = require "rille.fail"
local state = require "rille.recipe.state"

local Folder = class "Folder"

-- A name may be any text; the folder is one below runs/.
local function fresh_path(name)
  local base = ("runs/%s-%s"):format((name:gsub("[/%c]", "_")), os.date "%Y%m%d-%H%M%S")
  local path, n = base, 1
  while native.exists(path) do
    n = n + 1
    path = base .. "-" .. n
  end
  return path
end

local function in_use(path, err)
  fail.raise {
    kind = "data", code = "E_LOCK_TIMEOUT", op = "recipe", status = 5, facts = err.facts,
    message = ("'%s' is in use by another run"):format(path),
    hint = "give this one a folder of its own with --out",
  }
end

-- The folder, made where it is not there, and held until it is closed.
function Folder.open(path, save)
  native.mkdirs(path .. "/checkpoints")
  local probe = path .. "/checkpoints/.probe"
  native.write_file(probe, "")                             -- better now than after an hour's work
  os.remove(probe)
  local ok, lock = pcall(native.lock, path .. "/LOCK")
  if not ok then
    if lock.code == "E_LOCK_TIMEOUT" then in_use(path, lock) end
    error(lock, 0)
  end
  return setmetatable({
    path = path, lock = lock, checkpoints = native.checkpoints(path .. "/checkpoints", save.keep),
    background = save.async or false, warned = {},
  }, Folder)
end

-- For a new run. One that is there already is gone on with, or given up: never mixed with another.
function Folder.create(path, recipe, save, force)
  local self = Folder.open(path or fresh_path(recipe.name), save)
  local steps = self.checkpoints:steps()
  if steps[1] and not force then
    self:close()
    fail.raise {
      kind = "state", code = "E_STATE", op = "recipe",
      message = ("'%s' holds the checkpoints of a run, up to step %d"):format(self.path, steps[1]),
      hint = "--resume goes on with it, --force begins anew and removes them",
    }
  end
  for _, step in ipairs(steps) do os.remove(self.checkpoints:path(step)) end
  self:rewind(0)
  return self
end

-- What only tells of a run may fail: that is said once a file.
local function warn_once(self, name, reason)
  if self.warned[name] then return end
  self.warned[name] = true
  io.stderr:write(("warning: cannot write '%s/%s': %s; training goes on\n"):format(self.path, name,
    reason))
end

local function quietly(self, name, f)
  local ok, err = pcall(f)
  if ok then return end
  local text = type(err) == "table" and err.code == "E_IO" and err.message
    or type(err) == "string" and err
  if not text then error(err, 0) end
  warn_once(self, name, (text:match("([^:]*)$"):gsub("^ ", "")))
end

function Folder:config(values)
  quietly(self, "config.json", function()
    native.write_file(self.path .. "/config.json", native.json_encode(values) .. "\n")
  end)
end

-- A pipe would be waited for, without end.
local function read(path)
  local file <close> = native.is_file(path) and io.open(path, "rb") or nil
  return file and file:read "a"
end

-- A copy of the recipe; says whether there was another before.
function Folder:keep_script(path)
  local text = path and read(path)
  if not text then return false end
  local name = path:match "[^/]+$"
  local kept = self.path .. "/" .. name
  local before = read(kept)
  if text ~= before then
    quietly(self, name, function() native.write_file(kept, text) end)
  end
  return before ~= nil and text ~= before
end

local not_a_file = "not a regular file"

local function special(path)
  return native.exists(path) and not native.is_file(path)
end

local function append(self, text)
  if not self.metrics then
    local path = self.path .. "/metrics.jsonl"
    if special(path) then return nil, not_a_file end
    local file, reason = io.open(path, "a")
    if not file then return nil, reason end
    file:setvbuf "no"                                    -- with a buffer a full disk goes unseen
    self.metrics = file
  end
  return self.metrics:write(text)
end

-- One line of metrics. Training goes on where they can't be written: that is told once, and a line
-- that was cut off is ended before the next.
function Folder:record(values)
  local text = native.json_encode(values) .. "\n"
  local written, reason = append(self, self.cut and "\n" .. text or text)
  self.cut = not written
  if not written then warn_once(self, "metrics.jsonl", (reason:match("[^:]*$"):gsub("^ ", ""))) end
end

-- Takes away the lines of steps that a resumed run will do again.
function Folder:rewind(step)
  local path, lines = self.path .. "/metrics.jsonl", {}
  if special(path) then return warn_once(self, "metrics.jsonl", not_a_file) end
  if not native.exists(path) then return end
  quietly(self, "metrics.jsonl", function()
    for line in io.lines(path) do
      local at = tonumber(line:match '^{.*"step":%s*(%d+).*}$')
      if at and at <= step then lines[#lines + 1] = line .. "\n" end
    end
    native.write_file(path, table.concat(lines))
  end)
end

-- The step of a save in the background that has become durable since the last call, with its path.
function Folder:finished(wait)
  local step = self.checkpoints:finished(wait)
  if step then return step, self.checkpoints:path(step) end
end

-- Saves, points `last` at it, and removes all but the newest `keep`. Returns the path, or nil where
-- that goes on in the background.
function Folder:save(run, step)
  local path = self.checkpoints:save(step, state.collect(run, step), self.background)
  return not self.background and path or nil
end

-- Lets a save in the background end first: the lock is for it, too.
function Folder:close()
  local ok, err = pcall(self.finished, self, true)
  if not ok then
    io.stderr:write(("the last save failed: %s\n"):format(native.reported(tostring(err))))
  end
  if self.metrics then self.metrics:close() end
  self.metrics = nil
  self.lock:release()
end

return Folder
