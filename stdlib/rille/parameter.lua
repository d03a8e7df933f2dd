-- What makes a tensor a parameter, and the name it was last seen under. Marks hang on the tensor
-- itself (weak keys), so a tied parameter is the same one wherever it is found.
local native = require "rille.native"
local check = require "rille.check"
local fail = require "rille.fail"

local parameter = {}

local marked = setmetatable({}, { __mode = "k" })
local names = setmetatable({}, { __mode = "k" })

-- Marks `t` itself; for tensors that are leaves already.
function parameter.mark(t)
  marked[t] = true
  return t
end

-- A leaf that shares the memory of `t` and asks for gradients.
function parameter.new(t, options)
  if not native.is_tensor(t) then fail.type("Parameter", "t", "a tensor", t) end
  if options ~= nil then check("Parameter", "options", options, { type = "table" }) end
  local wanted = not options or options.requires_grad == nil or options.requires_grad
  return parameter.mark(t:detach():requires_grad_(wanted))
end

function parameter.is(value)
  return marked[value] == true
end

function parameter.set_name(t, name)
  names[t] = name
end

function parameter.name(t)
  return names[t]
end

return parameter
