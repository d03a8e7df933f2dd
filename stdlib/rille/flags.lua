-- Command-line flags from a table of defaults: types, ranges, help. Scripts (rille.args) and
-- recipes share it. An entry: name, type, default, required, choices, min, max, help; `optional`
-- value, `repeated`; `neutral` where it can't change a recipe's result.
local check = require "rille.check"
local fail = require "rille.fail"

local flags = {}

-- What a type is called in the help.
local types = {
  string = "text", path = "path", number = "number", integer = "integer", boolean = "boolean",
  list = "a,b,..",
}

local function type_of(value)
  if type(value) == "number" then return math.type(value) == "integer" and "integer" or "number" end
  return type(value) == "table" and "list" or type(value)
end

local keys = {
  "type", "default", "required", "choices", "min", "max", "help", "optional", "repeated",
  "neutral",
}
local is_key = {}
for _, key in ipairs(keys) do is_key[key] = true end

local function one_of(list, value)
  for _, each in ipairs(list) do
    if each == value then return true end
  end
  return false
end

-- A declaration that no flag could keep to is its author's mistake, told where it stands.
local function check_declared(op, entry)
  local of_number = entry.type == "number" or entry.type == "integer"
  for _, bound in ipairs { "min", "max" } do
    local value = entry[bound]
    if value ~= nil and not of_number then
      fail.argument(op, "'%s' is for numbers, and '%s' is a %s", bound, entry.name,
        types[entry.type])
    end
    if value ~= nil and type(value) ~= "number" then
      fail.type(op, bound .. " of " .. entry.name, "a number", value)
    end
  end
  if entry.choices ~= nil and (type(entry.choices) ~= "table" or #entry.choices == 0) then
    fail.argument(op, "'choices' of '%s' must be a list", entry.name)
  end
  local default = entry.default
  if default == nil then return end
  if entry.choices and not one_of(entry.choices, default) then
    fail.argument(op, "the default of '%s', %s, is none of its choices", entry.name,
      tostring(default))
  end
  if not of_number then return end
  if type(default) ~= "number" then
    fail.type(op, "default of " .. entry.name, "a number", default)
  end
  if entry.min and default < entry.min or entry.max and default > entry.max then
    fail.argument(op, "the default of '%s', %s, is not within its bounds", entry.name, default)
  end
end

local function entry_of(op, name, given)
  local entry = { name = name }
  if type(given) ~= "table" or #given > 0 then
    entry.default = given
  else
    for key, value in pairs(given) do
      if not is_key[key] then fail.unknown(op, "key of '" .. name .. "':", key, keys) end
      entry[key] = value
    end
  end
  if not entry.type then
    local sample = entry.default
    if sample == nil then sample = entry.choices and entry.choices[1] end
    entry.type = sample == nil and "string" or type_of(sample)
  end
  if not types[entry.type] then
    fail.argument(op, "'%s' has the unknown type '%s'", name, tostring(entry.type))
  end
  check_declared(op, entry)
  return entry
end

-- Entries in alphabetical order, the required ones first.
function flags.declare(op, spec)
  if type(spec) ~= "table" then fail.type(op, "the arguments", "a table", spec) end
  local entries = {}
  for name, given in pairs(spec) do
    if type(name) ~= "string" then fail.type(op, "a name", "a string", name) end
    entries[#entries + 1] = entry_of(op, name, given)
  end
  table.sort(entries, function(a, b)
    if (not a.required) ~= (not b.required) then return a.required end
    return a.name < b.name
  end)
  return entries
end

local words_for_booleans = {
  ["true"] = true, on = true, yes = true, ["1"] = true,
  ["false"] = false, off = false, no = false, ["0"] = false,
}

local function wrong(entry, wanted, text)
  fail.usage("--" .. entry.name:gsub("_", "-"), ("must be %s, got '%s'"):format(wanted, text))
end

local readers = {}

function readers.string(_, text) return text end
readers.path = readers.string

function readers.number(entry, text)
  local value = tonumber(text)
  if not value then wrong(entry, "a number", text) end
  if math.abs(value) == math.huge then wrong(entry, "a number that f64 holds", text) end
  return value + 0.0
end

function readers.integer(entry, text)
  local value = math.tointeger(tonumber(text))
  if not value then wrong(entry, "an integer", text) end
  return value
end

function readers.boolean(entry, text)
  local value = words_for_booleans[text:lower()]
  if value == nil then wrong(entry, "true or false", text) end
  return value
end

function readers.list(entry, text)
  local list, sample = {}, entry.default and entry.default[1]
  local read = readers[sample == nil and "string" or type_of(sample)]
  for part in text:gmatch "[^,]+" do list[#list + 1] = read(entry, part) end
  return list
end

-- The text of one flag as a value of its type, within its bounds.
function flags.read(entry, text)
  local value = readers[entry.type](entry, text)
  if entry.choices then
    if one_of(entry.choices, value) then return value end
    local names = {}
    for i, choice in ipairs(entry.choices) do names[i] = tostring(choice) end
    wrong(entry, "one of " .. table.concat(names, ", "), text)
  end
  if entry.min and value < entry.min then wrong(entry, "at least " .. entry.min, text) end
  if entry.max and value > entry.max then wrong(entry, "at most " .. entry.max, text) end
  return value
end

-- What `rille run` takes before the file, and a recipe does not behind it.
local of_run = {
  sandbox = true, ["max-instructions"] = true, ["max-seconds"] = true, ["max-memory"] = true,
  ["max-lua-memory"] = true, ["max-tensor-memory"] = true,
}

local function is_flag(word)
  return word:match "^%-%-%a" ~= nil
end

-- Name and value of the word at `i`; value is nil where it is the next word's, or there is none.
local function split(words, i)
  local word = words[i]
  local name, value = word:match "^%-?%-?([%a_][%w_%.%-]*)=(.*)$"
  if name then return name, value end
  if is_flag(word) then return word:sub(3) end
  fail.usage("arguments", ("unexpected word '%s'"):format(word), "flags look like --name value")
end

-- The entry of a name, and whether it was said as --no-name.
local function find(entries, name)
  local known = {}
  local plain = name:gsub("-", "_")
  for i, entry in ipairs(entries) do
    if entry.name == plain then return entry, false end
    known[i] = entry.name:gsub("_", "-")
  end
  if plain:match "^no_" then
    for _, entry in ipairs(entries) do
      if entry.name == plain:sub(4) and entry.type == "boolean" then return entry, true end
    end
  end
  if of_run[name] then
    fail.usage("arguments",
      ("unknown flag '--%s'; as an option of rille run it goes before the file"):format(name))
  end
  local hint = fail.suggestion(name, known):gsub("'(.-)'", "'--%1'")
  fail.usage("arguments", ("unknown flag '--%s'%s"):format(name, hint), "--help lists the flags")
end

-- Reads one flag at word i; returns how many words it took.
local function take(entries, values, words, i)
  local name, text = split(words, i)
  local entry, negated = find(entries, name)
  local taken = 1
  if text == nil and entry.type == "boolean" then
    values[entry.name] = not negated
    return taken
  end
  if text == nil then
    local following = words[i + 1]
    local taken_by_next = entry.optional and following and following:match "^[%a_][%w_%-]*="
    if following ~= nil and not is_flag(following) and not taken_by_next then
      text, taken = following, 2
    elseif entry.optional then
      values[entry.name] = true
      return taken
    else
      fail.usage("--" .. name, "needs a value")
    end
  end
  local value = flags.read(entry, text)
  if negated then value = not value end
  if entry.repeated then
    local list = values[entry.name] or {}
    list[#list + 1], value = value, list
  end
  values[entry.name] = value
  return taken
end

-- What the words give, without defaults: values by name. `help` is true where --help or -h is
-- among them.
function flags.parse(entries, words)
  local values, i, help = {}, 1, false
  check("args", "words", words, { type = "table" })
  for n, word in ipairs(words) do
    check("args", ("words[%d]"):format(n), word, { type = "string" })
  end
  while i <= #words do
    if words[i] == "--help" or words[i] == "-h" then
      help, i = true, i + 1
    else
      i = i + take(entries, values, words, i)
    end
  end
  return values, help
end

-- Adds defaults; every required flag that is missing is named in one error.
function flags.fill(entries, values)
  local missing = {}
  for _, entry in ipairs(entries) do
    if values[entry.name] == nil then
      if entry.required then missing[#missing + 1] = "--" .. entry.name:gsub("_", "-") end
      values[entry.name] = entry.default
    end
  end
  if #missing > 0 then
    local verb = #missing == 1 and " is" or " are"
    local message = table.concat(missing, ", ") .. verb .. " missing"
    fail.usage("arguments", message, "--help lists the flags")
  end
  return values
end

local function show(value)
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for i, part in ipairs(value) do parts[i] = tostring(part) end
  return table.concat(parts, ",")
end

local function remarks(entry)
  local parts = { entry.help }
  local function add(text) parts[#parts + 1] = text end
  if entry.choices then add("one of " .. show(entry.choices)) end
  if entry.min then add("at least " .. entry.min) end
  if entry.max then add("at most " .. entry.max) end
  if entry.required then add "required" end
  if entry.default ~= nil then add("default " .. show(entry.default)) end
  return table.concat(parts, "; ")
end

-- One line a flag, in two columns.
function flags.help(entries)
  local names, width, lines = {}, 0, {}
  for i, entry in ipairs(entries) do
    local value = entry.type ~= "boolean" and types[entry.type] or ""
    if entry.optional then value = "[" .. value .. "]" end
    names[i] = ("  --%s %s"):format(entry.name:gsub("_", "-"), value):gsub("%s+$", "")
    width = math.max(width, #names[i])
  end
  for i, entry in ipairs(entries) do
    lines[i] = (names[i] .. (" "):rep(width - #names[i] + 2) .. remarks(entry)):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

return flags
