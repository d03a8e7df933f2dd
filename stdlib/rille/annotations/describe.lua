-- Any function of the library as a typed one: by the table of types, else by its source.
local natives = require "rille.annotations.natives"
local source = require "rille.annotations.source"
local Writer = require "rille.annotations.write"

local describe = {}

local function show(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for i, part in ipairs(value) do parts[i] = show(part) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

local function type_of(value)
  if value == nil then return "any" end
  if type(value) ~= "table" then return type(value) end
  return type(value[1]) == "number" and "number[]" or "table"
end

-- Options as the library reads them, { { name, default } }, as entries of a class. `types` are
-- those that no default tells.
function describe.options(known, types)
  if not known then return nil end
  local entries = {}
  for i, entry in ipairs(known) do
    local default = entry[2]
    entries[i] = {
      name = entry[1], type = types and types[entry[1]] or type_of(default),
      default = default ~= nil and show(default) or nil,
    }
  end
  return entries
end

local function typed_options(list)
  local entries = {}
  for i, entry in ipairs(list) do
    entries[i] = { name = entry[1], type = entry[2], default = entry[3] }
  end
  return entries
end

-- `name` is how the file calls it, `path` its full name. `known` are options where the caller knows
-- them better than the source.
function describe.func(w, name, path, f, known)
  local typed, told = natives[path], source.of(f)
  local doc = typed and typed[2] ~= "" and typed[2] or told and told.doc or ""
  local params, results = {}, { "any" }
  if typed then
    params, results = Writer.signature(typed[1])
  end
  local class = path .. ".options"
  local options = known or told and told.options
  if typed and typed.options then
    w:options(class, typed_options(typed.options))
  elseif options then
    w:options(class, describe.options(options, typed and typed.types))
  end
  if not typed and told then
    for _, word in ipairs(told.params) do
      if word ~= "self" then
        local kind = word == "options" and (options and class or "table") or "any"
        params[#params + 1] = { name = word, type = kind, optional = word ~= "..." }
      end
    end
  end
  w:func(name, doc, params, results)
end

return describe
