-- Methods that visit a tree of modules: lists and iterators of what is in it, and what is done to
-- all of it. A module or tensor that is reachable by two paths is visited once, under the first.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local Module = require "rille.nn.module".Module
local parameter = require "rille.parameter"
local read_options = require "rille.options"

local function join(prefix, name)
  return prefix == "" and name or prefix .. "." .. name
end

local function walk(module, prefix, seen, visit)
  if seen[module] then return end
  seen[module] = true
  visit(prefix, module)
  for name, child in module:named_children() do walk(child, join(prefix, name), seen, visit) end
end

local function iterate(names, values)
  local i = 0
  return function()
    i = i + 1
    return names[i], values[i]
  end
end

-- Names and tensors of one kind under `module`, as two lists.
local function tensors(module, kind)
  local names, list, seen = {}, {}, {}
  walk(module, "", {}, function(prefix, part)
    for name, t in part:own_tensors(kind) do
      if not seen[t] then
        seen[t] = true
        names[#names + 1], list[#list + 1] = join(prefix, name), t
      end
    end
  end)
  return names, list
end

-- Iterates names and all modules, this one first.
--: -> (fun(): string, rille.nn.Module)
function Module:named_modules()
  local names, list = {}, {}
  walk(self, "", {}, function(name, module)
    names[#names + 1], list[#list + 1] = name, module
  end)
  return iterate(names, list)
end

--: -> rille.nn.Module[]
function Module:modules()
  local list = {}
  for _, module in self:named_modules() do list[#list + 1] = module end
  return list
end

--: -> rille.nn.Module[]
function Module:children()
  local list = {}
  for _, module in self:named_children() do list[#list + 1] = module end
  return list
end

-- Iterates names and parameters, those of the modules in it, too.
--: -> (fun(): string, rille.Tensor)
function Module:named_parameters()
  return iterate(tensors(self, "parameter"))
end

-- Iterates names and buffers, those of the modules in it, too.
--: -> (fun(): string, rille.Tensor)
function Module:named_buffers()
  return iterate(tensors(self, "buffer"))
end

-- The parameters as a list.
--: -> rille.Tensor[]
function Module:parameters()
  local names, list = tensors(self, "parameter")
  for i, t in ipairs(list) do parameter.set_name(t, names[i]) end
  return list
end

--: -> rille.Tensor[]
function Module:buffers()
  local _, list = tensors(self, "buffer")
  return list
end

-- Two groups for an optimizer: weight decay for matrices and larger, none for the others (biases,
-- norms).
--: -> rille.optim.group[]
function Module:parameter_groups(options)
  local decay = read_options("parameter_groups", options, {
    { "decay", 0.0, doc = "of matrices and larger" },
  }).decay
  local decayed, plain = { params = {}, weight_decay = decay }, { params = {}, weight_decay = 0.0 }
  for _, t in ipairs(self:parameters()) do
    if t.requires_grad then
      local group = t:dim() >= 2 and decayed or plain
      group.params[#group.params + 1] = t
    end
  end
  local groups = {}
  if #decayed.params > 0 then groups[#groups + 1] = decayed end
  if #plain.params > 0 then groups[#groups + 1] = plain end
  return groups
end

-- Calls f with every module, children before parents.
--: f: fun(module: rille.nn.Module) -> rille.nn.Module
function Module:apply(f)
  check("apply", "f", f, { type = "fun" })
  for _, child in ipairs(self:children()) do child:apply(f) end
  f(self)
  return self
end

-- Into training mode, or with false out of it.
--: mode?: boolean -> rille.nn.Module
function Module:train(mode)
  for _, module in self:named_modules() do module.training = mode ~= false end
  return self
end

-- Out of training mode.
--: -> rille.nn.Module
function Module:eval()
  return self:train(false)
end

-- Whether its parameters get gradients.
--: wanted?: boolean -> rille.nn.Module
function Module:requires_grad_(wanted)
  for _, t in self:named_parameters() do t:requires_grad_(wanted ~= false) end
  return self
end

local function clear_grads(self, keep)
  for _, t in self:named_parameters() do
    if not keep then
      t.grad = nil
    elseif t.grad then
      t.grad:zero_()
    end
  end
end

-- Gradients are taken away, or filled with zeros.
function Module:zero_grad(options)
  native.unit(clear_grads, self, not read_options("zero_grad", options, {
    { "set_to_none", true, doc = "false: they become zeros" },
  }).set_to_none)
end

local function replace_all(self, moved)
  local _ <close> = rille.no_grad()
  for _, kind in ipairs { "parameter", "buffer" } do
    local _, list = tensors(self, kind)
    for _, t in ipairs(list) do
      local grad = t.grad
      native.set_data(t, moved(t))
      if grad then t.grad = moved(grad) end
    end
  end
end

local function is_dtype(name)
  return not (name:match "^cpu" or name:match "^cuda" or name == "meta" or name == "auto")
end

-- Moves or casts in place, so that optimizers keep hold of the parameters. A dtype reaches only
-- what is floating point, a layout only what has the four or five dims that it is about.
--: target: rille.dtype|string -> rille.nn.Module
function Module:to(target, options)
  if options ~= nil then check("to", "options", options, { type = "table" }) end
  local casts = type(target) == "string" and is_dtype(target)
  local rest = {}
  for key, value in pairs(options or {}) do
    if key ~= "layout" then rest[key] = value end
  end
  rest = next(rest) ~= nil and rest or nil
  local function moved(t)
    if casts and not t.dtype:match "^b?f%d" then return t end
    return t:to(target, t:dim() >= 4 and options or rest)
  end
  native.unit(replace_all, self, moved)
  return self
end

return { walk = walk, join = join }
