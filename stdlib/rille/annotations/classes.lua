-- Classes of rille.nn as entries: how they are made and what they can do. Layers say it in C++
-- (LayerInfo), modules over one op by that op, the others by their source.
local Writer = require "rille.annotations.write"
local source = require "rille.annotations.source"
local describe = require "rille.annotations.describe"

local classes = {}

local function constructor(entry)
  local words, required = {}, false
  for _, p in ipairs(entry.params) do
    words[#words + 1] = ("%s%s: %s"):format(Writer.parameter(p.name), p.optional and "?" or "",
      p.type)
  end
  for _, option in ipairs(entry.options or {}) do
    required = required or option.required and not option.positional
  end
  if entry.options then
    words[#words + 1] = ("options%s: %s.options"):format(required and "" or "?", entry.path)
  end
  return ("fun(%s): %s"):format(table.concat(words, ", "), entry.path)
end

local function named(fields, wanted)
  for _, field in ipairs(fields) do
    if field.name == wanted then return field end
  end
  return { name = wanted, type = "any" }
end

-- As options, which may be given by position, too; with the defaults that a class sets.
local function options_of(fields, class)
  local options = {}
  for _, field in ipairs(fields) do
    local set_by_mode = class.follows_mode and field.name == "training"
    if not field.type:match "^rille%.Tensor" and not set_by_mode then
      local preset = class.presets and class.presets[field.name]
      options[#options + 1] = {
        name = field.name, type = field.type, doc = field.doc, required = field.required,
        positional = true, default = preset ~= nil and describe.show(preset) or field.default,
      }
    end
  end
  return #options > 0 and options or nil
end

-- Required options may be given by position, before the table.
local function of_layer(layer)
  local params = {}
  for i, field in ipairs(layer.fields) do
    if field.required or i == 1 then
      params[#params + 1] = {
        name = field.name, type = field.type, doc = field.doc, optional = not field.required,
      }
    end
  end
  return params, options_of(layer.fields, {}), { layer.doc }
end

local function of_op(class, op)
  local params = {}
  for _, name in ipairs(class.positional) do
    local field = named(op.fields, name)
    params[#params + 1] = { name = name, type = field.type, doc = field.doc, optional = true }
  end
  local doc = ("A module over rille.%s: %s"):format(op.name, op.doc)
  return params, options_of(op.fields, class), { doc }
end

-- Methods that the class has of its own.
local function methods_of(path, class)
  local names, list = {}, {}
  for key, value in next, class do
    if type(key) == "string" and type(value) == "function" and not key:match "^__" then
      names[#names + 1] = key
    end
  end
  table.sort(names)
  for i, key in ipairs(names) do
    list[i] = describe.func(path .. "." .. key, class[key])
    list[i].name = key
  end
  return list
end

function classes.entry(path, name, class, schema)
  local entry = { path = path, name = name, value = class, methods = methods_of(path, class) }
  entry.results = { path }
  local layer = path == "rille.nn." .. name and schema.layers[name]
  if name == "Module" then
    entry.params, entry.doc = {}, { "What every module can do. Its parameters, buffers and \z
      members are fields." }
  elseif layer then
    entry.params, entry.options, entry.doc = of_layer(layer)
  elseif rawget(class, "op") then
    entry.params, entry.options, entry.doc = of_op(class, schema.ops[class.op])
  else
    entry.params, entry.options = describe.init(path, class.init)
    entry.doc = source.class_doc(class.init, class.__name)
  end
  return entry
end

function classes.write(w, entry)
  local M = "M." .. entry.name
  if entry.options then w:options(entry.path .. ".options", entry.options) end
  w:doc(entry.doc)
  if entry.name == "Module" then                        -- the base of all
    w:line("---@class %s", entry.path)
    w:line "---@field training boolean whether it is in training mode"
    w:line "---@field [string] any"
    w:line "---@overload fun(...): any"
  else
    w:line("---@class %s: rille.nn.Module", entry.path)
    w:line("---@overload %s", constructor(entry))
  end
  w:line("%s = {}", M)
  w:line ""
  for _, method in ipairs(entry.methods) do
    describe.write(w, M .. ":" .. method.name, method)
  end
end

return classes
