-- The flags that every recipe has, merged with its own `args`; and --set, which changes a field by
-- its dotted name.
local fail = require "rille.fail"
local flags = require "rille.flags"
local nearest = require "rille.nearest"

local settings = {}

local standard = {
  steps = { type = "integer", min = 0, help = "optimizer steps" },
  seed = { type = "integer", default = 0, help = "of all random numbers" },
  device = { type = "string", default = "auto", help = "cpu, cuda:1; auto: cuda if there is one" },
  threads = { type = "integer", min = 1, help = "CPU threads" },
  accumulate = { type = "integer", min = 1, help = "batches a step" },
  clip = { type = "number", min = 0, help = "largest norm of the gradients" },
  amp = { type = "string", choices = { "off", "bf16", "f16", "f8" }, help = "mixed precision" },
  checkpoint_blocks = { type = "string", optional = true,
    help = "recompute: full, cheap, alternate_mm, a budget; full without" },
  out = { type = "path", help = "run folder; runs/<name>-<date>-<time> without" },
  resume = { type = "path", optional = true, help = "a run or checkpoint; else the newest" },
  strict = { type = "boolean", default = false, help = "resume the newest or none" },
  force = { type = "boolean", default = false, help = "resume with other arguments; begin anew" },
  deterministic = { type = "boolean", default = false, help = "same bits on any threads" },
  fast_dev_run = { type = "boolean", default = false, help = "one step, evaluation, save, load" },
  overfit_batches = { type = "integer", min = 1, help = "train on the first n batches only" },
  eval_only = { type = "boolean", default = false, help = "evaluate and end" },
  set = { type = "string", repeated = true, help = "a field of the recipe: save.every=5" },
}

-- The recipe's entry of a standard flag's name gives its default and nothing else. `more` are
-- flags of a command's own, where the recipe has none of that name.
local function merged(recipe, more)
  local spec = {}
  for name, entry in pairs(more or {}) do spec[name] = entry end
  for name, entry in pairs(standard) do spec[name] = entry end
  for name, given in pairs(recipe.args or {}) do
    if standard[name] then
      local copy = {}
      for key, value in pairs(standard[name]) do copy[key] = value end
      copy.default = type(given) == "table" and given.default or given
      given = copy
    end
    spec[name] = given
  end
  return flags.declare("recipe", spec)
end

local function guarded(values, entries)
  local known, names = {}, {}
  for i, entry in ipairs(entries) do known[entry.name], names[i] = true, entry.name end
  return setmetatable(values, {
    __index = function(_, name)
      if known[name] or type(name) ~= "string" then return nil end
      fail.argument("args", "no argument '%s' is declared%s", name, fail.suggestion(name, names))
    end,
  })
end

-- Values by name, or nil and the help text.
function settings.read(recipe, words, more)
  local entries = merged(recipe, more)
  local values, help = flags.parse(entries, words)
  if help then return nil, flags.help(entries) end
  return guarded(flags.fill(entries, values), entries)
end

-- Names of the arguments that the recipe says can't change its result.
function settings.neutral(recipe)
  local names = {}
  for _, entry in ipairs(merged(recipe)) do names[entry.name] = entry.neutral end
  return names
end

local booleans = { ["true"] = true, ["false"] = false }

-- Reads the text as the type that the field has; a new field takes a number or a boolean where the
-- text is one.
local function typed(name, text, old)
  if old == nil and booleans[text] ~= nil then return booleans[text] end
  if old == nil then return math.tointeger(tonumber(text)) or tonumber(text) or text end
  local kind = math.type(old) or type(old)
  if kind == "table" or kind == "function" then
    fail.usage("--set", ("'%s' is a %s and can't be set"):format(name, kind))
  end
  return flags.read({ name = "set " .. name, type = kind == "float" and "number" or kind }, text)
end

local function copy_of(value)
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, part in pairs(value) do copy[key] = copy_of(part) end
  return copy
end

-- Arguments have flags of their own.
local function refuse_argument(recipe, path)
  local name = path:match "^args%.(.*)$"
  if not name and path ~= "args" then return end
  local known, flag = {}, nil
  for i, entry in ipairs(merged(recipe)) do
    known[i] = entry.name
    if entry.name == name then flag = name end
  end
  flag = flag or name and nearest(name, known)
  local instead = flag and "use --" .. flag:gsub("_", "-") or "--help lists the flags"
  fail.usage("--set", ("'%s' is no field of the recipe; %s"):format(path, instead))
end

-- What the recipe refuses after --set was wrong on the command line.
local function check(fields, set)
  local ok, err = pcall(require "rille.recipe", fields)
  if ok then return end
  if set and type(err) == "table" and err.kind == "argument" then
    fail.usage("--set", err.message)
  end
  error(err, 0)
end

-- The recipe's fields as a fresh table, with --set and the flags that stand for fields applied.
function settings.apply(recipe, values)
  local fields = {}
  for name, value in pairs(recipe.fields) do
    fields[name] = name == "args" and value or copy_of(value)
  end
  for _, text in ipairs(values.set or {}) do
    local path, value = text:match "^([%w_.]+)=(.*)$"
    if not path then fail.usage("--set", ("takes field=value, got '%s'"):format(text)) end
    refuse_argument(recipe, path)
    local place, last = fields, nil
    for part in path:gmatch "[^.]+" do
      if last then
        place[last] = place[last] or {}
        place = place[last]
        if type(place) ~= "table" then
          fail.usage("--set", ("'%s' holds no fields, it is a %s"):format(last, type(place)))
        end
      end
      last = part
    end
    place[last] = typed(path, value, place[last])
  end
  for _, name in ipairs { "clip", "accumulate", "amp", "checkpoint_blocks" } do
    if values[name] ~= nil then fields[name] = values[name] end
  end
  check(fields, values.set)
  return fields
end

return settings
