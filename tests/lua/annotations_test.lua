-- What is written for editors against the live module: files that parse, every name there is and no
-- other, every parameter with its type.
local rille = require "rille"
local native = require "rille.native"
local annotations = require "rille.annotations"
local natives = require "rille.annotations.natives"
local source = require "rille.annotations.source"
local t = require "support.test"

local texts = annotations.texts()

local ops = {}
for _, op in ipairs(rille.ops()) do ops[op.name] = true end

local function is_op(name) return ops[name] == true end

local function keys(list)
  local names = {}
  for name in pairs(list) do
    if not name:match "^__" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- What a file makes when it is run: a meta file is Lua, too.
local function run(name)
  return assert(load(texts[name], "=" .. name, "t", {}))()
end

t.test("each file is Lua, and each of its functions says what it takes", function()
  local functions = 0
  for name, text in pairs(texts) do
    assert(load(text, "=" .. name, "t"))
    local said = {}
    for line in text:gmatch "[^\n]+" do
      local param = line:match "^%-%-%-@param ([%w_%.]+)%??%s%S"
      local names = line:match "^function [%w_%.:]+%((.-)%) end$"
      if param then
        said[#said + 1] = param
      elseif names then
        t.eq(table.concat(said, ", "), names, name .. ": " .. line)
        functions, said = functions + 1, {}
      end
      t.ok(#line == 0 or not line:match "%s$", name .. " has blanks at an end: " .. line)
    end
  end
  t.ok(functions > 1000, functions)
end)

-- The table of the library that a file is about.
local function live(path)
  local value = rille
  for part in path:gmatch "%.([%w_]+)" do value = value[part] end
  return value
end

t.test("every name of every table is there, and no other", function()
  local seen = 0
  for name in pairs(texts) do
    if name ~= "rille.Tensor.d.lua" then
      local path = name:match "^(.*)%.d%.lua$"
      t.eq(keys(run(name)), annotations.names_of(live(path)), path)
      seen = seen + 1
    end
  end
  t.ok(seen >= 12)
  for _, name in ipairs { "sum", "tensor", "nn", "no_grad", "version", "prelude" } do
    t.ok(run "rille.d.lua"[name] ~= nil, name)
  end
end)

t.test("every method and field of tensors is there, and no other", function()
  t.eq(keys(run "rille.Tensor.d.lua"), annotations.names_of(native.tensor_methods))
  local fields = {}
  local class = texts["rille.Tensor.d.lua"]:match "^(.-)local Tensor = {}"
  for name in class:gmatch "\n%-%-%-@field ([%a_]+)" do
    fields[#fields + 1] = name
  end
  t.eq(fields, annotations.names_of(native.tensor_fields))
end)

t.test("what is written in C++ and is no op has a type by hand, and nothing else has", function()
  local wanted, known = {}, {}
  local function see(path, value)
    if type(value) == "function" and not source.of(value) then wanted[path] = true end
    known[path] = value
  end
  local function walk(path, value, depth)
    for _, name in ipairs(annotations.names_of(value)) do
      local part = value[name]
      if not (path == "rille" and is_op(name)) then see(path .. "." .. name, part) end
      local open = type(part) == "table" and not (getmetatable(part) or {}).__call
      if open and depth < 4 and name ~= "Module" then walk(path .. "." .. name, part, depth + 1) end
    end
  end
  walk("rille", rille, 1)
  for _, name in ipairs(annotations.names_of(native.tensor_methods)) do
    if not is_op(name) and not is_op(name:match "^(.*)_$" or "") then
      see("Tensor." .. name, native.tensor_methods[name])
    end
  end
  for _, name in ipairs(annotations.names_of(native.tensor_fields)) do
    known["Tensor#" .. name] = true
  end
  for path in pairs(wanted) do t.ok(natives[path], path .. " has no type") end
  for path in pairs(natives) do t.ok(known[path] ~= nil, path .. " is not there any more") end
end)

-- The lines that lead to and include one.
local function block(name, last)
  local lines, found = {}, nil
  for line in texts[name]:gmatch "([^\n]*)\n" do
    if line == last then found = true break end
    if line == "" then lines = {} else lines[#lines + 1] = line end
  end
  t.ok(found, name .. " has no line " .. last)
  return lines
end

t.test("an op, a layer and an optimizer as the documentation has them", function()
  t.eq(block("rille.d.lua", "function M.layer_norm(x, weight, bias, eps, shape) end") ~= nil, true)
  local linear = block("rille.nn.d.lua", "M.Linear = {}")
  t.eq(linear[#linear - 1], "---@class rille.nn.Linear: rille.nn.Module")
  t.eq(linear[#linear], "---@overload fun(in_: integer, out: integer, "
    .. "options?: rille.nn.Linear.options): rille.nn.Linear")
  local adamw = texts["rille.optim.d.lua"]
  t.ok(adamw:find("---@class rille.optim.AdamW.options\n"
    .. "---@field lr? number learning rate (default 0.001)\n---@field betas? number[] "
    .. "of the averages of the gradient and of its square (default {0.9, 0.999})\n", 1, true))
  local gelu = texts["rille.Tensor.d.lua"]
  t.ok(gelu:find('---@param approximate? "none"|"tanh" ', 1, true))
end)

-- The fields of a class in a file: name -> { type and text, whether it may be missing }.
local function fields_of(name, class)
  local list = {}
  block(name, "---@class " .. class)
  local from = texts[name]:find("---@class " .. class .. "\n", 1, true)
  for line in texts[name]:sub(from):gmatch "([^\n]*)\n" do
    local field, mark, rest = line:match "^%-%-%-@field ([%w_]+)(%??) (.*)$"
    if field then list[field] = { rest, mark == "?" } elseif next(list) then break end
  end
  return list
end

-- The names of options in an error that refuses one: "takes: lr = 0.001, ..." or, of a layer,
-- "takes: Linear(in, out, { bias = true, device })".
local function accepted(f, ...)
  local fine, problem = pcall(f, ...)
  t.ok(not fine)
  local takes = tostring(problem):match "takes: ([^\n]*)"
  t.ok(takes, tostring(problem))
  takes = takes:gsub("^[%w_]+(%b())", function(list) return list:sub(2, -2) end)
  takes = takes:gsub("= %b{}", ""):gsub("[{}]", "")
  local names = {}
  for word in (takes .. ","):gmatch "([^,]*)," do
    local name = word:match "^%s*([%a_][%w_]*)"
    if name and takes ~= "no options" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function annotated(name, class)
  return keys(fields_of(name, class))
end

t.test("optimizers, schedules, layers and loaders take what is annotated", function()
  local wrong = { no_such_option = 1 }
  local params, set = { rille.ones(2) }, rille.data.table { x = rille.ones(4) }
  local opt = rille.optim.SGD(params)
  for _, name in ipairs { "SGD", "Adam", "AdamW", "LBFGS" } do
    t.eq(accepted(rille.optim[name], params, wrong),
      annotated("rille.optim.d.lua", ("rille.optim.%s.options"):format(name)), name)
  end
  local lr = annotations.names_of(rille.optim.lr)
  t.ok(#lr >= 14)
  for _, name in ipairs(lr) do
    if name ~= "chain" then
      t.eq(accepted(rille.optim.lr[name], opt, wrong),
        annotated("rille.optim.lr.d.lua", ("rille.optim.lr.%s.options"):format(name)), name)
    end
  end
  for name, first in pairs {
    Loader = set, Random = set, Subset = { 1 }, DistributedSampler = set, LengthBucket = { 1 },
    windows = rille.arange(1, 9), csv = "x", tokens = "x",
  } do
    t.eq(accepted(rille.data[name], first, wrong),
      annotated("rille.data.d.lua", ("rille.data.%s.options"):format(name)), name)
  end
  local layers = 0
  for name, layer in pairs(native.schema().layers) do
    local wanted, given = {}, { no_such_option = 1 }
    for i, field in ipairs(layer.fields) do
      wanted[i] = field.name
      if field.required then given[field.name] = field.type == "integer" and 2 or { 2 } end
    end
    table.sort(wanted)
    t.eq(accepted(rille.nn[name], given), wanted, name)
    t.eq(annotated("rille.nn.d.lua", ("rille.nn.%s.options"):format(name)), wanted, name)
    layers = layers + 1
  end
  t.ok(layers > 20)
  for _, name in ipairs { "TransformerEncoderLayer", "MultiheadAttention" } do
    t.eq(accepted(rille.nn[name], 4, 2, wrong),
      annotated("rille.nn.d.lua", ("rille.nn.%s.options"):format(name)), name)
  end
end)

t.test("methods take what is annotated", function()
  local net, opt = rille.nn.Linear(2, 2), rille.optim.SGD { rille.ones(2) }
  local wrong = { no_such_option = 1 }
  for _, name in ipairs { "state_dict", "parameter_groups", "zero_grad" } do
    t.eq(accepted(net[name], net, wrong),
      annotated("rille.nn.d.lua", ("rille.nn.Module.%s.options"):format(name)), name)
  end
  t.eq(accepted(net.load_state_dict, net, {}, wrong),
    annotated("rille.nn.d.lua", "rille.nn.Module.load_state_dict.options"))
  t.eq(accepted(opt.zero_grad, opt, wrong),
    annotated("rille.optim.d.lua", "rille.optim.Optimizer.zero_grad.options"))
end)

t.test("what must be given is marked so", function()
  for name, required in pairs {
    Cosine = { "steps" }, Step = { "size" }, OneCycle = { "max_lr", "steps" }, Linear = {},
    Plateau = {}, WarmupStableDecay = { "decay", "stable", "warmup" },
  } do
    local class, found = ("rille.optim.lr.%s.options"):format(name), {}
    local fields = fields_of("rille.optim.lr.d.lua", class)
    for field, said in pairs(fields) do
      if not said[2] then found[#found + 1] = field end
    end
    table.sort(found)
    t.eq(found, required, name)
  end
  local recipe = fields_of("rille.d.lua", "rille.recipe.options")
  t.eq(recipe.loss, { "fun(self: table, batch: any): rille.Tensor of a batch", false })
  t.eq(recipe.save, { "rille.recipe.options.save checkpoints", true })
end)

t.test("no parameter of optim, data and the Transformer layers is `any` alone", function()
  for _, name in ipairs { "optim", "optim.lr", "data", "data.transforms" } do
    local part = texts[("rille.%s.d.lua"):format(name)]:match "local M = {}(.*)$"
    t.ok(not part:find "%-%-%-@param [%w_.]+%?? any\n", name)
    t.ok(not part:find "%-%-%-@field [%w_]+%?? any", name)
    t.ok(not part:find "%-%-%-@return any\n", name)
  end
  local nn = texts["rille.nn.d.lua"]
  t.ok(nn:find("---@overload fun(make: rille.nn.Module[]|(fun(i: integer): rille.nn.Module), "
    .. "count?: integer, options?: rille.nn.TransformerEncoder.options): "
    .. "rille.nn.TransformerEncoder\n", 1, true))
end)

-- A type that a source says for a name that is no parameter would be lost.
t.test("types that sources say are of parameters", function()
  local seen = 0
  for path, place in require "rille.annotations.catalog".all() do
    local told = place.kind == "function" and source.of(place.value)
    if told and told.signature then
      local known = {}
      for _, word in ipairs(told.params) do known[word] = true end
      for _, param in ipairs((require "rille.annotations.write".signature(told.signature))) do
        t.ok(known[param.name], ("%s has no %s"):format(path, param.name))
        seen = seen + 1
      end
    end
  end
  t.ok(seen > 40, seen)
end)
