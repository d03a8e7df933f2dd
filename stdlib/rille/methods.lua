-- Methods of tensors that are written in Lua: those that give back the very box they were called
-- on, or an object of ours.
local methods = require "rille.native".tensor_methods

-- Asks for gradients, or no longer with `false`; returns the tensor itself.
function methods.requires_grad_(t, on)
  t:set_requires_grad(on ~= false)
  return t
end

local add_hook = methods.register_hook

-- f(gradient) runs when the gradient is known; a tensor that it returns replaces it.
-- handle:remove() ends it.
function methods.register_hook(t, f)
  local id = add_hook(t, f)
  local function remove() t:remove_hook(id) end
  return setmetatable({ remove = remove }, { __name = "Hook", __close = remove })
end

-- Its values by kind and power of two, and the shares of them that narrower formats would lose.
function methods.fpstats(t)
  return require "rille.amp.float_stats".of(t)
end
