local rille = require "rille"
rille.memory.limit "64MiB"
local rows = { rille.zeros(1024, 1024), rille.zeros(1024, 1024), rille.zeros(512) }
rille.zeros(8192, 2048)
