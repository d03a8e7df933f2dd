-- Classes of rille.nn: how they are made and what they can do. Layers say it in C++ (LayerInfo),
-- modules over one op by that op, the others by their source.
local Writer = require "rille.annotations.write"
local source = require "rille.annotations.source"
local describe = require "rille.annotations.describe"

local classes = {}

local function constructor(name, params, options)
  local words = {}
  for _, p in ipairs(params) do
    words[#words + 1] = ("%s%s: %s"):format(Writer.parameter(p.name), p.optional and "?" or "",
      p.type)
  end
  if options then words[#words + 1] = ("options?: rille.nn.%s.options"):format(name) end
  return ("fun(%s): rille.nn.%s"):format(table.concat(words, ", "), name)
end

local function named(fields, wanted)
  for _, field in ipairs(fields) do
    if field.name == wanted then return field end
  end
  return { name = wanted, type = "any" }
end

-- Required options may be given by position, before the table.
local function of_layer(layer)
  local params = {}
  for i, field in ipairs(layer.fields) do
    if field.required then
      params[#params + 1] = { name = field.name, type = field.type, optional = false }
    elseif i == 1 then
      params[1] = { name = field.name, type = field.type, optional = true }
    end
  end
  return params, layer.fields, layer.doc
end

local function of_op(class, op)
  local params, options = {}, {}
  for _, name in ipairs(class.positional) do
    params[#params + 1] = { name = name, type = named(op.fields, name).type, optional = true }
  end
  for _, field in ipairs(op.fields) do
    if not field.type:match "^rille%.Tensor" then options[#options + 1] = field end
  end
  local doc = ("A module over rille.%s: %s"):format(op.name, op.doc)
  return params, #options > 0 and options or nil, doc
end

local function of_source(name, class)
  local told = source.of(class.init)
  if not told then return {}, nil, "" end
  local params = {}
  for _, word in ipairs(told.params) do
    if word ~= "options" then
      params[#params + 1] = { name = word, type = "any", optional = word ~= "..." }
    end
  end
  return params, describe.options(told.options), source.class_doc(class.init, name)
end

-- Methods that the class has of its own.
local function methods(w, name, class)
  local names = {}
  for key, value in next, class do
    if type(key) == "string" and type(value) == "function" and not key:match "^__" then
      names[#names + 1] = key
    end
  end
  table.sort(names)
  for _, key in ipairs(names) do
    describe.func(w, "M." .. name .. ":" .. key, "rille.nn." .. name .. "." .. key, class[key])
  end
end

function classes.write(w, name, class, schema)
  local params, options, doc
  if schema.layers[name] then
    params, options, doc = of_layer(schema.layers[name])
  elseif rawget(class, "op") then
    params, options, doc = of_op(class, schema.ops[class.op])
  else
    params, options, doc = of_source(name, class)
  end
  if options then w:options(("rille.nn.%s.options"):format(name), options) end
  w:doc(doc)
  w:line("---@class rille.nn.%s: rille.nn.Module", name)
  w:line("---@overload %s", constructor(name, params, options))
  w:line("M.%s = {}", name)
  w:line ""
  methods(w, name, class)
end

-- The base of all.
function classes.base(w, class)
  w:doc "What every module can do. Its parameters, buffers and members are fields."
  w:line "---@class rille.nn.Module"
  w:line "---@field training boolean whether it is in training mode"
  w:line "---@field [string] any"
  w:line "---@overload fun(...): any"
  w:line "M.Module = {}"
  w:line ""
  methods(w, "Module", class)
end

return classes
