-- Tensors that PyTorch can make, too, so that stored values of PyTorch's stand for what a layer
-- should give: element j of a wave is sin(0.7 j + phase) / 2. `fill` sets parameter i of a module,
-- in order, to the wave of phase i.
local rille = require "rille"

local waves = {}

function waves.wave(shape, phase)
  local n = 1
  for _, size in ipairs(shape) do n = n * size end
  local j = rille.arange(0, n - 1, { dtype = "f64" })
  return ((j * 0.7 + phase):sin() * 0.5):reshape(shape)
end

function waves.fill(module)
  local _ <close> = rille.no_grad()
  for i, p in ipairs(module:parameters()) do p:copy_(waves.wave(p:shape(), i)) end
  return module
end

function waves.flat(x)
  return x:reshape(-1):tolist()
end

return waves
