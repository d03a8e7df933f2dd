-- W10: 500 MB in 100 tensors: saved until the disk has them, loaded and every number read.
local rille = require "rille"
local measure = require "measure"

local path = measure.args.folder .. "/files-rille.safetensors"
local state = {}
for i = 1, 100 do state[("layer%d.weight"):format(i)] = rille.randn(1250, 1000) end

measure.case("save", function() rille.save(path, state) end)
measure.case("load", function()
  for _, t in pairs(rille.load(path)) do t:sum() end
end)
measure.case("load_mapped", function()
  for _, t in pairs(rille.load(path, { mmap = true })) do t:sum() end
end)
os.remove(path)
