local rille = require "rille"
local nn = rille.nn
local net = nn.Linear(2, 3)
net:load_state_dict { wieght = rille.ones(3, 2) }
