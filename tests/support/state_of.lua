-- state_of.lua CHECKPOINT OUT: what a checkpoint holds without what may differ between two runs of
-- the same result (arguments such as the folder), for comparing by hash.
local rille = require "rille"
local saved = rille.load(arg[1])
saved.args = nil
os.remove(arg[2])
rille.save(arg[2], saved)
os.remove(arg[2] .. ".lock")
