-- rille.Function { forward = function(ctx, ...) end, backward = function(ctx, ...) end }: an
-- operation with a gradient of its own. forward runs outside of autograd; backward gets one
-- gradient an output and returns one gradient or nil for each tensor argument.
local native = require "rille.native"
local fail = require "rille.fail"
local modes = require "rille.modes"

local Context = {}
Context.__index = Context

function Context:save(...)
  local kept = table.pack(...)
  for i = 1, kept.n do
    if kept[i] ~= nil and not native.is_tensor(kept[i]) then
      fail.raise {
        kind = "argument", code = "E_TYPE", op = "save",
        message = ("argument %d must be a tensor or nil, got %s"):format(i, fail.describe(kept[i])),
        hint = "keep other values in fields: ctx.name = value",
      }
    end
  end
  self.kept = kept
end

function Context:saved()
  if not self.kept then return end
  return table.unpack(self.kept, 1, self.kept.n)
end

local function tensors_among(values)
  local list = {}
  for i = 1, values.n do
    if native.is_tensor(values[i]) then list[#list + 1] = values[i] end
  end
  return list
end

-- The outputs in the places of the tensors among them.
local function put_back(outputs, tensors)
  local next_tensor = 0
  for i = 1, outputs.n do
    if native.is_tensor(outputs[i]) then
      next_tensor = next_tensor + 1
      outputs[i] = tensors[next_tensor]
    end
  end
  return outputs
end

local function call(self, ...)
  local ctx = setmetatable({ needs = {} }, Context)
  local inputs = tensors_among(table.pack(...))
  for i, t in ipairs(inputs) do ctx.needs[i] = t.requires_grad end
  local outputs = table.pack(modes.no_grad(self.forward, ctx, ...))
  local function backward(...) return self.backward(ctx, ...) end
  local recorded = table.pack(native.record(backward, inputs, tensors_among(outputs),
    tensors_among(ctx.kept or { n = 0 })))
  outputs = put_back(outputs, recorded)
  return table.unpack(outputs, 1, outputs.n)
end

local Function = { __name = "Function", __call = call }

return function(definition)
  if type(definition) ~= "table" then fail.type("Function", "definition", "a table", definition) end
  for _, name in ipairs { "forward", "backward" } do
    if type(definition[name]) ~= "function" then
      fail.type("Function", name, "a function", definition[name])
    end
  end
  return setmetatable({ forward = definition.forward, backward = definition.backward }, Function)
end
