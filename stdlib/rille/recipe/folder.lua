-- A run's folder: config.json, metrics.jsonl, a copy of the recipe, and checkpoints, of which the
-- newest is also `last`. Everything but metrics is written whole or not at all.
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"

local Folder = {}
Folder.__index = Folder

local function exists(path)
  return native.exists(path)
end

local function fresh_path(name)
  local base = ("runs/%s-%s"):format(name, os.date "%Y%m%d-%H%M%S")
  local path, n = base, 1
  while exists(path) do
    n = n + 1
    path = base .. "-" .. n
  end
  return path
end

local function path_of(folder, step)
  return ("%s/checkpoints/step-%d.safetensors"):format(folder, step)
end

-- Steps of the checkpoints in a folder, newest first.
local function steps_in(path)
  local steps = {}
  local folder = path .. "/checkpoints"
  for _, name in ipairs(exists(folder) and native.list(folder) or {}) do
    local step = name:match "^step%-(%d+)%.safetensors$"
    if step then steps[#steps + 1] = math.tointeger(tonumber(step)) end
  end
  table.sort(steps, function(a, b) return a > b end)
  return steps
end

function Folder.create(path, recipe)
  path = path or fresh_path(recipe.name)
  native.mkdirs(path .. "/checkpoints")
  return setmetatable({ path = path }, Folder)
end

function Folder:config(values)
  native.write_file(self.path .. "/config.json", native.json_encode(values) .. "\n")
end

function Folder:keep_script(path)
  if not path or not exists(path) then return end
  local file <close> = assert(io.open(path, "rb"))
  native.write_file(self.path .. "/" .. path:match "[^/]+$", file:read "a")
end

local function cannot_write(path, reason)
  fail.raise {
    kind = "data", code = "E_IO", op = "metrics",
    message = ("cannot write '%s': %s"):format(path, reason),
  }
end

-- One line of metrics.
function Folder:record(values)
  local path = self.path .. "/metrics.jsonl"
  if not self.metrics then
    local file, reason = io.open(path, "a")
    if not file then cannot_write(path, reason) end
    self.metrics = file
    self.metrics:setvbuf "line"
  end
  local written, reason = self.metrics:write(native.json_encode(values), "\n")
  if not written then cannot_write(path, reason) end
end

-- Takes away the lines of steps that a resumed run will do again.
function Folder:rewind(step)
  local path, lines = self.path .. "/metrics.jsonl", {}
  if not exists(path) then return end
  for line in io.lines(path) do
    local at = tonumber(line:match '"step":%s*(%d+)')
    if at and at <= step then lines[#lines + 1] = line .. "\n" end
  end
  native.write_file(path, table.concat(lines))
end

function Folder:checkpoint_path(step)
  return path_of(self.path, step)
end

-- Saves, points `last` at it, and removes all but the newest `keep`.
function Folder:save(step, state, keep)
  local path = self:checkpoint_path(step)
  rille.save(path, state)
  native.link(path, self.path .. "/checkpoints/last.safetensors")
  for i, old in ipairs(steps_in(self.path)) do
    if keep and i > keep then
      os.remove(self:checkpoint_path(old))
      os.remove(self:checkpoint_path(old) .. ".lock")
    end
  end
  return path
end

function Folder:close()
  if self.metrics then self.metrics:close() end
  self.metrics = nil
end

-- The newest run of a recipe under runs/, or nil.
local function newest_run(name)
  local found = {}
  for _, entry in ipairs(exists "runs" and native.list "runs" or {}) do
    if entry:sub(1, #name + 1) == name .. "-" and entry:sub(#name + 2):match "^%d+%-%d+" then
      found[#found + 1] = entry
    end
  end
  table.sort(found)
  for i = #found, 1, -1 do
    if steps_in("runs/" .. found[i])[1] then return "runs/" .. found[i] end
  end
end

local function unusable(message, ...)
  fail.raise {
    kind = "data", code = "E_IO", op = "resume", status = 4, message = message:format(...),
  }
end

-- Where to go on: a folder, and the checkpoints to try, newest first.
local function candidates(where, out, name)
  if type(where) == "string" and where:match "%.safetensors$" then
    return where:match "^(.*)/checkpoints/[^/]*$", { where }
  end
  local path = type(where) == "string" and where or out or newest_run(name)
  if not path then unusable("no run of '%s' with a checkpoint under runs/", name) end
  local list = {}
  for i, step in ipairs(steps_in(path)) do
    list[i] = path_of(path, step)
  end
  if #list == 0 then unusable("no checkpoint in '%s'", path) end
  return path, list
end

-- Returns the folder of the run to go on with (nil: none) and the state of its newest checkpoint
-- that reads well.
function Folder.find(where, out, name)
  local path, list = candidates(where, out, name)
  local reason
  for _, file in ipairs(list) do
    local ok, state = pcall(rille.load, file)
    if ok then return path and setmetatable({ path = path }, Folder), state end
    reason = tostring(state)
    io.stderr:write(("resume: '%s' can't be used: %s\n"):format(file, reason))
  end
  unusable("no usable checkpoint: %s", reason)
end

return Folder
