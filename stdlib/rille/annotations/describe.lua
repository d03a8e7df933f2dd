-- What any function of the library takes and gives, as an entry: { path, doc (lines), params,
-- results, options }. Params are { name, type, optional, doc }, options { name, type, default, doc,
-- required }. Types come from the table for what is written in C++, from the declaration of options
-- and from the line `--: name: type -> result` above a function.
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
describe.show = show

local function type_of(value)
  if value == nil then return "any" end
  if type(value) ~= "table" then return type(value) end
  return type(value[1]) == "number" and "number[]" or "table"
end

-- Options as the library declares them, { { name, default, type =, doc =, required = } }, as those
-- of an entry. `fields` are what a table in one of them may hold.
function describe.options(known)
  if not known then return nil end
  local entries = {}
  for i, option in ipairs(known) do
    local default = option[2]
    entries[i] = {
      name = option[1], type = option.type or type_of(default), doc = option.doc,
      default = default ~= nil and show(default) or nil, required = option.required,
      fields = describe.options(option.fields),
    }
  end
  return entries
end

local function typed(signature)
  local params, results = Writer.signature(signature)
  local by_name = {}
  for _, param in ipairs(params) do by_name[param.name] = param end
  return by_name, results, params
end

-- The parameters that the source names, with the types that are said of them.
local function params_of(told, types, class)
  local params = {}
  for _, word in ipairs(told.params) do
    if word == "options" or class.options and word == told.word then
      local optional = true
      for _, option in ipairs(class.options or {}) do
        if option.required then optional = false end
      end
      local kind = class.options and class.path .. ".options" or "table"
      if types[word] then kind = types[word].type .. "|" .. kind end
      params[#params + 1] = { name = word, type = kind, optional = optional }
    elseif word ~= "self" then
      local unknown = { type = "any", optional = word ~= "..." }
      local param = types[word] or unknown
      params[#params + 1] = { name = word, type = param.type, optional = param.optional }
    end
  end
  return params
end

-- `declared` is what the caller knows better than the source: { doc, signature, options }.
function describe.func(path, f, declared)
  declared = declared or {}
  local native, told = natives[path], source.of(f)
  local entry = { path = path, value = f, doc = declared.doc and { declared.doc } or {} }
  entry.options = describe.options(declared.options or native and native.options
    or told and told.options)
  if native then
    entry.params, entry.results = Writer.signature(native[1])
    if native[2] ~= "" then entry.doc = { native[2] } end
  else
    local types, results = typed(declared.signature or told and told.signature or "")
    entry.params = told and params_of(told, types, entry) or {}
    entry.results = #results > 0 and results or { "any" }
  end
  if #entry.doc == 0 and told then entry.doc = told.doc end
  return entry
end

-- The parameters of a class's init, and what its source says of it.
function describe.init(path, init)
  local told = source.of(init)
  if not told then return {}, nil end
  local options = describe.options(told.options)
  local params = params_of(told, (typed(told.signature or "")), { path = path, options = options })
  if params[#params] and params[#params].name == "options" then params[#params] = nil end
  return params, options
end

-- `name` is how the file calls it.
function describe.write(w, name, entry)
  if entry.options and not entry.shares then w:options(entry.path .. ".options", entry.options) end
  w:func(name, entry.doc, entry.params, entry.results, entry.overloads)
end

return describe
