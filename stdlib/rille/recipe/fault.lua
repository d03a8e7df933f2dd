-- Why a file that reads well is no checkpoint that a run can go on from. It may come from anywhere,
-- so that types and ranges are looked at before anything changes.
local native = require "rille.native"
local objects = require "rille.recipe.objects"

local format = 3

local parts = {
  "format", "step", "objects", "generators", "fields", "modes", "stream", "random", "recipe",
  "args", "skipped", "skipped_in_a_row",
}

local function is_count(value)
  return math.type(value) == "integer" and value >= 0
end

local function is_table(value)
  return type(value) == "table"
end

local function is_string(value)
  return type(value) == "string"
end

-- A table whose values all fit.
local function all(fits)
  return function(value)
    if type(value) ~= "table" then return false end
    for _, part in next, value do
      if not fits(part) then return false end
    end
    return true
  end
end

local names = all(is_string)

local function is_modes(value)
  return is_table(value) and names(value.eval) and names(value.frozen)
end

local function is_position(value)
  return is_table(value) and math.type(value.seed) == "integer" and is_count(value.next)
end

local function is_random(value)
  local list = is_table(value) and is_position(value.rille) and value.lua
  return is_table(list) and #list == 4
    and all(function(word) return math.type(word) == "integer" end)(list)
end

local function is_args(value)
  return is_table(value) and (value.set == nil or names(value.set))
end

local whole = {
  format = is_count, step = is_count, objects = all(is_table), generators = all(is_position),
  fields = is_table, modes = all(is_modes), stream = is_table, random = is_random,
  recipe = is_string, args = is_args, skipped = is_count, skipped_in_a_row = is_count,
}

local stream = {
  kind = is_string, epoch = is_count, batches = is_count, calls = is_count, random = is_random,
  epoch_random = is_random,
}

local schedule = { step = is_count }

local optimizer = {
  step_count = is_count, groups = all(is_table),
  state = all(function(value) return is_table(value) and is_count(value.step) end),
}

local function show(value)
  if native.is_tensor(value) then return "a tensor" end
  if type(value) == "table" then return "not what it should be" end
  return type(value) == "string" and ("'%s'"):format(value) or tostring(value)
end

-- A line on the first value that doesn't fit, by name.
local function misfit(value, spec, prefix)
  local keys = {}
  for key in next, spec do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do
    if not spec[key](value[key]) then
      return ("its '%s%s' is %s"):format(prefix, key, show(value[key]))
    end
  end
end

local function missing(saved)
  local lacks = {}
  for _, name in ipairs(parts) do
    if type(saved) ~= "table" or saved[name] == nil then lacks[#lacks + 1] = name end
  end
  if #lacks > 0 then
    return "no checkpoint of a recipe, or not a whole one: lacks " .. table.concat(lacks, ", ")
  end
end

-- Optimizers and schedules, which trust what they are given.
local function in_objects(saved, self)
  for _, entry in ipairs(objects.with_state(self)) do
    local name, object = entry[1], entry[2]
    local spec = object.at and object.optimizer and schedule
      or object.groups and object.step_count and optimizer
    local state = saved.objects[name]
    if spec and state then
      local own, wanted = object:state_dict(), {}
      for key, fits in next, spec do wanted[key] = own[key] ~= nil and fits or nil end
      local text = misfit(state, wanted, "objects." .. name .. ".")
      if text then return text end
    end
  end
end

-- The place in the data, as far as the source of this run can tell.
local function in_source(saved, run)
  local own, place = run.stream:own_state(saved.stream), saved.stream.source
  if type(own) ~= "table" or saved.stream.epoch == 0 then return nil end
  for _, name in ipairs { "epoch", "batches" } do
    local given = is_table(place) and place[name] or nil
    if is_count(own[name]) and not is_count(given) then
      return ("its 'stream.source.%s' is %s"):format(name, show(given))
    end
  end
end

-- A place behind the end of the data, which may have become less.
local function behind_the_end(saved, run)
  local most, place = run.stream:length_for(saved.stream), saved.stream
  if not most then return nil end
  local at = math.max(place.batches, is_table(place.source) and place.source.batches or 0)
  if at > most then
    return ("it stands at batch %d of an epoch, which has %d"):format(at, most)
  end
end

local fault = { format = format }

-- A text, or nil where the run can go on from it; and whether that is the file's own fault.
function fault.of(saved, run)
  if type(saved) == "table" and math.type(saved.format) == "integer" and saved.format ~= format then
    return ("its format is %d, not %d"):format(saved.format, format), false   -- of another version
  end
  local text = missing(saved) or misfit(saved, whole, "") or misfit(saved.stream, stream, "stream.")
    or in_objects(saved, run.self) or in_source(saved, run)
  if text then return text, true end
  return behind_the_end(saved, run), false
end

return fault
