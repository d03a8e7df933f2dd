-- Both streams of random numbers that a script draws from, Rille's and math.random, as one value:
-- for code that draws aside from them, and for checkpoints.
local rille = require "rille"
local native = require "rille.native"

local random_state = {}

function random_state.get()
  return { rille = rille.get_rng_state(), lua = native.lua_random_state() }
end

function random_state.set(state)
  rille.set_rng_state(state.rille)
  native.set_lua_random_state(state.lua)
end

function random_state.seed(seed)
  rille.seed(seed)
  math.randomseed(seed)
end

local keeper = { __close = function(self) random_state.set(self.state) end }

-- A scope at whose end the streams stand where they stood.
function random_state.keep()
  return setmetatable({ state = random_state.get() }, keeper)
end

return random_state
