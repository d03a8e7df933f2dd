-- What is written for editors against the live module: files that parse, every name there is and no
-- other, every parameter with its type.
local rille = require "rille"
local native = require "rille.native"
local annotations = require "rille.annotations"
local natives = require "rille.annotations.natives"
local source = require "rille.annotations.source"
local t = require "support.test"

local texts = annotations.texts()

local function is_op(name)
  for _, op in ipairs(rille.ops()) do
    if op.name == name then return true end
  end
  return false
end

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
  for name in texts["rille.Tensor.d.lua"]:gmatch "\n%-%-%-@field ([%a_]+)" do
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
  t.ok(adamw:find("---@class rille.optim.AdamW.options\n---@field lr? number (default 0.001)\n"
    .. "---@field betas? number[] (default {0.9, 0.999})\n", 1, true))
  local gelu = texts["rille.Tensor.d.lua"]
  t.ok(gelu:find('---@param approximate? "none"|"tanh" ', 1, true))
end)
