-- Sees what goes through a model: statistics of the activations of each layer, of their gradients
-- and of those of the weights, by hooks that are there while the observation lasts.
local native = require "rille.native"
local FloatStats = require "rille.amp.float_stats"
local module = require "rille.nn.module"

local function is_float(value)
  return native.is_tensor(value) and value.dtype:match "^b?f%d" ~= nil
end

-- A layer is a module that computes something of its own: it has parameters, or no modules in it.
local function is_layer(part)
  return part:own_tensors "parameter"() ~= nil or part:named_children()() == nil
end

local function note(layer, kind, t)
  local seen = layer[kind]
  if not seen then
    seen = { stats = FloatStats.empty(), tensors = 0 }
    layer[kind] = seen
  end
  seen.stats:add(FloatStats.of(t))
  seen.tensors = seen.tensors + 1
end

local function each_float(value, visit)
  if is_float(value) then
    visit(value)
  elseif type(value) == "table" then
    for _, part in pairs(value) do
      if is_float(part) then visit(part) end
    end
  end
end

local function watch_outputs(state, layer, ...)
  for i = 1, select("#", ...) do
    each_float(select(i, ...), function(t)
      note(layer, "activations", t)
      if not t.requires_grad then return end
      t:register_hook(function(gradient)
        if not state.ended then note(layer, "activation gradients", gradient) end
      end)
    end)
  end
end

-- Hooks on one layer; their handles go into `handles`.
local function watch(part, layer, state, every, handles)
  local calls = 0
  local function in_turn() return (calls - 1) % every == 0 end
  handles[#handles + 1] = part:register_forward_hook(function(_, _, ...)
    calls = calls + 1
    if in_turn() then watch_outputs(state, layer, ...) end
  end)
  for _, t in part:own_tensors "parameter" do
    if t.requires_grad then
      handles[#handles + 1] = t:register_hook(function(gradient)
        if in_turn() then note(layer, "weight gradients", gradient) end
      end)
    end
  end
end

-- Begins to look at `model`, at each `every`-th call of a layer. Returns the layers, in order, as
-- { name, class, [kind] = { stats, tensors } }, and a function that ends it.
return function(model, every)
  local layers, parts, handles, state = {}, {}, {}, { ended = false }
  for name, part in model:named_modules() do
    if is_layer(part) then
      local class = module.class_of(part).__name
      local layer = { name = native.shown(name == "" and class or name), class = class }
      layers[#layers + 1], parts[#parts + 1] = layer, part
      watch(part, layer, state, every, handles)
    end
  end
  local function finish()
    if state.ended then return end
    state.ended = true
    for _, handle in ipairs(handles) do handle.remove() end
    for i, part in ipairs(parts) do
      for _, t in part:own_tensors "parameter" do note(layers[i], "weights", t) end
    end
    parts, handles = {}, {}                              -- the model may go
  end
  return layers, finish
end
