local rille = require "rille"
local saved = rille.amp.GradScaler { enabled = false }:state_dict()
rille.amp.GradScaler():load_state_dict(saved)
