-- Thin constructors over the engine's layers (native.layer). Each line names the options that may
-- be given by position, `least` of them must be (else all); the rest sit in the trailing table.
local native = require "rille.native"
local fail = require "rille.fail"
local module = require "rille.nn.module"
local parameter = require "rille.parameter"

local kinds = {
  Linear = { "in", "out" },
  Bilinear = { "in1", "in2", "out" },
  Embedding = { "count", "width" },
  EmbeddingBag = { "count", "width" },
  Conv1d = { "in", "out", "kernel" },
  Conv2d = { "in", "out", "kernel" },
  Conv3d = { "in", "out", "kernel" },
  ConvTranspose1d = { "in", "out", "kernel" },
  ConvTranspose2d = { "in", "out", "kernel" },
  ConvTranspose3d = { "in", "out", "kernel" },
  BatchNorm1d = { "features" },
  BatchNorm2d = { "features" },
  BatchNorm3d = { "features" },
  LayerNorm = { "shape" },
  RMSNorm = { "shape" },
  GroupNorm = { "groups", "features" },
  InstanceNorm1d = { "features" },
  InstanceNorm2d = { "features" },
  InstanceNorm3d = { "features" },
  PReLU = { "count", least = 0 },
  RNN = { "in", "hidden" },
  LSTM = { "in", "hidden" },
  GRU = { "in", "hidden" },
  RNNCell = { "in", "hidden" },
  LSTMCell = { "in", "hidden" },
  GRUCell = { "in", "hidden" },
}
for dims = 1, 3 do
  for _, kind in ipairs { "Zero", "Constant", "Reflection", "Replication", "Circular" } do
    kinds[("%sPad%dd"):format(kind, dims)] = { "pads", bare = true }
  end
  kinds[("ConstantPad%dd"):format(dims)] = { "pads", "value", least = 1, bare = true }
end

-- Positional arguments and the trailing table as one table of options. A list is no option table:
-- nn.LayerNorm({ 4, 8 }) gives a shape.
local function read(kind, names, ...)
  local options, given = {}, table.pack(...)
  local last = given[given.n]
  if type(last) == "table" and #last == 0 then
    for name, value in pairs(last) do options[name] = value end
    given[given.n] = nil
    given.n = given.n - 1
  end
  if given.n > #names then
    fail.argument(kind, "takes %s and options in a table, got %d arguments",
      table.concat(names, ", "), given.n)
  end
  for i, name in ipairs(names) do
    if given[i] ~= nil then options[name] = given[i] end
    if options[name] == nil and i <= (names.least or #names) then
      fail.argument(kind, "'%s' is missing", name)
    end
  end
  return options
end

local Layer = module.define "Layer"

-- The tensors are fields like any other: what stands in them is what forward uses, so they can be
-- replaced or tied.
function Layer:init(...)
  local kind = self.kind
  local layer = native.layer(kind, read(self.__name, kinds[kind], ...))
  module.state(self).layer = layer
  for _, entry in ipairs(layer.parameters) do self[entry[1]] = parameter.mark(entry[2]) end
  for _, entry in ipairs(layer.buffers) do self:buffer(entry[1], entry[2]) end
end

function Layer:forward(...)
  return native.layer_forward(module.state(self).layer, self, ...)
end

function Layer:describe()
  local text = native.layer_text(module.state(self).layer):match "%((.*)%)$"
  return kinds[self.kind].bare and text:gsub("%w+=", "") or text
end

local layers = {}
for kind in pairs(kinds) do
  layers[kind] = module.define(kind, Layer)
  layers[kind].kind = kind
end
return layers
