-- Runs of declared recipes inside a test: a folder that goes with its scope, and no output.
local native = require "rille.native"
local run = require "rille.recipe.run"
local runs = {}

-- A name in the folder of temporary files; what is there is removed when the variable ends.
function runs.folder()
  local path = os.tmpname()
  os.remove(path)
  return setmetatable({ path = path }, { __close = function() native.remove_all(path) end })
end

-- The exit status of the run, which writes nothing to the terminal, and what it said to stderr.
function runs.quietly(...)
  local say, errors, output = print, io.stderr, io.output()
  local _ <close> = setmetatable({}, {
    __close = function()
      print, io.stderr = say, errors -- luacheck: ignore
      io.output(output)
    end,
  })
  print = function() end -- luacheck: ignore
  local said = {}
  io.stderr = { -- luacheck: ignore
    write = function(self, ...)
      table.move({ ... }, 1, select("#", ...), #said + 1, said)
      return self
    end,
  }
  return run(...), table.concat(said)
end

return runs
