-- Ops as typed functions of `rille` and methods of tensors: parameters by position or by name in
-- one trailing table.
local Writer = require "rille.annotations.write"

local ops = {}

local function results_of(op)
  if op.truth then return { "boolean" } end
  if op.results == 0 then return { "rille.Tensor ..." } end
  local list = {}
  for i = 1, op.results do
    list[i] = op.names[i] and "rille.Tensor " .. op.names[i] or "rille.Tensor"
  end
  return list
end

local function parameter(field)
  local text = field.doc
  if field.default then text = ("%s (default %s)"):format(text, field.default) end
  return { name = field.name, type = field.type, doc = text, optional = not field.required }
end

-- Ops that make tensors from nothing can be asked for one that wants gradients.
local function makes_leaf(op)
  if op.name:match "_like$" then return true end
  for _, field in ipairs(op.fields) do
    if field.type:match "^rille%.Tensor" then return false end
  end
  return true
end

-- What may stand in the trailing table, under the class rille.<op>.options.
local function options_of(op)
  local list = {}
  for _, field in ipairs(op.fields) do
    list[#list + 1] = {
      name = field.name, type = field.type, doc = field.doc, default = field.default,
      required = field.required, positional = true,
    }
  end
  if op.draws then
    list[#list + 1] = { name = "generator", type = "rille.Generator", doc = "of the numbers" }
  end
  if makes_leaf(op) then
    list[#list + 1] = {
      name = "requires_grad", type = "boolean", doc = "of the result", default = "false",
    }
  end
  return list
end

-- fun(required..., options), and fun(...) where integers may stand for a list.
local function overloads(op, params, result, self)
  local begin, required = self and { "self: rille.Tensor" } or {}, {}
  for i, p in ipairs(params) do
    if not p.optional then
      required[#required + 1] = ("%s: %s"):format(Writer.parameter(p.name), p.type)
    elseif i > #required + 1 then
      break
    end
  end
  local function fun(...)
    local words = table.move(begin, 1, #begin, 1, {})
    for _, list in ipairs { ... } do table.move(list, 1, #list, #words + 1, words) end
    return ("fun(%s): %s"):format(table.concat(words, ", "), result)
  end
  local list = {}
  if #params > 0 then
    list[1] = fun(required, { ("options?: rille.%s.options"):format(op.name) })
  end
  local last = params[1]
  if last and last.spreads then list[#list + 1] = fun { "...: integer" } end
  return list
end

local function entry(op, path, first, result)
  local params = {}
  for i = first, #op.fields do
    params[#params + 1] = parameter(op.fields[i])
    params[#params].spreads = op.fields[i].spreads and op.fields[i].type:match "^integer"
  end
  local results = result and { result } or results_of(op)
  local short = table.concat(results, ", "):gsub("(rille%.Tensor) [%a_][%w_]*", "%1")
  short = short:gsub("rille%.Tensor %.%.%.", "...rille.Tensor")
  return {
    path = path, op = op.name, doc = { op.doc }, params = params, results = results,
    options = options_of(op), overloads = overloads(op, params, short, first > 1),
  }
end

-- Of functions that do something else, too.
local besides = { log = "fun(values: table<string, number|rille.Tensor>)" }

function ops.func(op)
  local func = entry(op, "rille." .. op.name, 1)
  func.overloads[#func.overloads + 1] = besides[op.name]
  return func
end

-- Methods share the class of options of the function.
function ops.method(op, in_place)
  local name = in_place and op.name .. "_" or op.name
  local method = entry(op, "Tensor." .. name, 2, in_place and "rille.Tensor" or nil)
  method.shares = true
  return method
end

return ops
