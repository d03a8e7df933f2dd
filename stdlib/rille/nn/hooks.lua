-- Hooks of modules: before forward, after forward, and on the gradients of a call.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local module = require "rille.nn.module"
local Module, STATE = module.Module, module.STATE

-- A call runs the hooks that there were when it began: one that runs may add or remove some, so a
-- change makes a new list.
local function hooks_of(self)
  local state = module.state(self)
  state.hooks = state.hooks or { pre = {}, post = {}, backward = {} }
  return state.hooks
end

local function register(self, kind, f)
  check("register_hook", "f", f, { type = "fun" })
  local hooks = hooks_of(self)
  local list = hooks[kind]
  local entry, handle = { run = f }, {}
  hooks[kind] = table.move(list, 1, #list, 1, {})
  table.insert(hooks[kind], entry)
  function handle.remove()
    local left = {}
    for _, other in ipairs(hooks[kind]) do
      if other ~= entry then left[#left + 1] = other end
    end
    hooks[kind] = left
  end
  return setmetatable(handle, { __close = handle.remove, __name = "Hook" })
end

-- f(module, inputs): a list that it returns replaces the inputs.
--: f: fun(module: rille.nn.Module, inputs: any[]): any[]? -> table
function Module:register_forward_pre_hook(f) return register(self, "pre", f) end

-- f(module, inputs, outputs...): what it returns replaces the outputs.
--: f: fun(module: rille.nn.Module, inputs: any[], ...): ... -> table
function Module:register_forward_hook(f) return register(self, "post", f) end

-- f(module, grad_inputs, grad_outputs): a list that it returns replaces the gradients of the
-- inputs. The lists are about the tensors that require a gradient, in order.
--: f: fun(module: rille.nn.Module, inputs: any[], outputs: any[]): any[]? -> table
function Module:register_backward_hook(f) return register(self, "backward", f) end

-- Passes the tensors of `values` that need a gradient through an identity whose backward is
-- f(grads...).
local function gate(values, f)
  local places, tensors = {}, {}
  for i = 1, values.n do
    if native.is_tensor(values[i]) and values[i].requires_grad then
      places[#places + 1], tensors[#tensors + 1] = i, values[i]
    end
  end
  if #places == 0 then return values, 0 end
  local identity = rille.Function {
    forward = function(_, ...)
      local views = { ... }
      for i, t in ipairs(views) do views[i] = t:view(t:shape()) end
      return table.unpack(views)
    end,
    backward = function(_, ...) return f(...) end,
  }
  local passed = { identity(table.unpack(tensors)) }
  local result = table.pack(table.unpack(values, 1, values.n))
  for i, place in ipairs(places) do result[place] = passed[i] end
  return result, #places
end

-- Where calls of the module are checkpoint blocks, hooks stay outside of them.
local function forward(self, hooks, ...)
  if not hooks.block then return self:forward(...) end
  return hooks.block(function(...) return self:forward(...) end, ...)
end

local function forward_with_gates(self, hooks, inputs)
  local grad_outputs = {}
  local given, gated = gate(inputs, function(...)
    local grads = table.pack(...)
    for _, hook in ipairs(hooks) do grads = hook.run(self, grads, grad_outputs) or grads end
    return table.unpack(grads, 1, select("#", ...))
  end)
  local outputs = table.pack(forward(self, hooks, table.unpack(given, 1, given.n)))
  return gate(outputs, function(...)
    grad_outputs = table.pack(...)
    if gated == 0 then
      for _, hook in ipairs(hooks) do hook.run(self, {}, grad_outputs) end
    end
    return ...
  end)
end

local function call(self, ...)
  local hooks, inputs = rawget(self, STATE).hooks, table.pack(...)
  for _, hook in ipairs(hooks.pre) do
    local replaced = hook.run(self, inputs)
    if type(replaced) == "table" then inputs = table.pack(table.unpack(replaced)) end
  end
  local outputs
  if #hooks.backward > 0 then
    outputs = forward_with_gates(self, hooks.backward, inputs)
  else
    outputs = table.pack(forward(self, hooks, table.unpack(inputs, 1, inputs.n)))
  end
  for _, hook in ipairs(hooks.post) do
    local replaced = table.pack(hook.run(self, inputs, table.unpack(outputs, 1, outputs.n)))
    if replaced.n > 0 and replaced[1] ~= nil then outputs = replaced end
  end
  return table.unpack(outputs, 1, outputs.n)
end

return {
  call = call,
  -- Calls of the module go through block(f, ...), or no longer.
  set_block = function(self, block) hooks_of(self).block = block end,
}
