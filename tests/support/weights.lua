-- weights.lua FROM TO: the tensors of a checkpoint under their places in it, and nothing else: no
-- dates, no settings. Two runs that came to the same weights give the same file.
local rille = require "rille"

local tensors = {}
local function collect(value, place)
  if rille.is_tensor(value) then
    tensors[place] = value
  elseif type(value) == "table" then
    for key, part in pairs(value) do collect(part, place .. "." .. tostring(key)) end
  end
end
collect(rille.load(arg[1]), "checkpoint")
assert(next(tensors), "no tensors in it")
rille.save(arg[2], tensors)
