-- Ties the Lua half to the engine's table: rille.nn and the others are loaded when they are first
-- asked for, and a name that doesn't exist is an error that tells the nearest one. The engine
-- calls this with its table, whose raw fields are its functions.
local native = require "rille.native"
local fail = require "rille.fail"
local read_only = require "rille.read_only"

local modules = {
  amp = "rille.amp", apex = "rille.apex",
  nn = "rille.nn", optim = "rille.optim", data = "rille.data", args = "rille.args",
  progress = "rille.progress", generate = "rille.generate",
  recipe = "rille.recipe", profile = "rille.profile", step = "rille.step",
  Function = "rille.function", tune = "rille.tune",
  debugging = "rille.debugging", pairs = "rille.pairs",
}

-- Names whose module holds several.
local members = {
  no_grad = "rille.modes", enable_grad = "rille.modes", inference = "rille.modes",
  saved_tensors = "rille.modes", save_on_cpu = "rille.modes",
  checkpoint = "rille.checkpoint", checkpointer = "rille.checkpoint",
  checkpoint_sequential = "rille.checkpoint",
  scope = "rille.scope", device = "rille.settings", backends = "rille.settings",
  use_deterministic = "rille.settings", strict = "rille.settings",
  prelude = "rille.host",
}

return function(rille)
  require "rille.methods"
  require "rille.run_state"
  -- rille.log(x) is the op; rille.log { loss = 2 } is this.
  rille.log = native.share_op("log", function(values) require "rille.log"(values) end)
  local holders = rille.memory.snapshot
  rille.memory.snapshot = function(path)
    if path == nil then return holders() end
    require "rille.memory.page"(holders(), path)
  end
  rille.memory.watch = function(...) return require "rille.memory.watch".run(...) end
  for name, value in next, rille do
    if type(value) == "table" then rille[name] = read_only("rille." .. name, value) end
  end
  local function names()
    local list = {}
    for name in next, rille do list[#list + 1] = name end
    for _, later in ipairs { modules, members } do
      for name in pairs(later) do
        if rawget(rille, name) == nil then list[#list + 1] = name end
      end
    end
    table.sort(list)
    return list
  end
  return setmetatable(rille, {
    names = names,                                       -- for completion
    __index = function(self, name)
      local path = modules[name] or members[name]
      if not path then
        fail.argument("rille", "has no '%s'%s", tostring(name), fail.suggestion(name, names()))
      end
      local value = require(path)
      if members[name] then value = value[name] end
      rawset(self, name, value)
      return value
    end,
    __newindex = function(_, name)
      fail.argument("rille", "'%s' can't be set: this table is read-only", tostring(name))
    end,
  })
end
