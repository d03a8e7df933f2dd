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

-- What fn prints and writes to stderr, in one text, and its result.
function runs.heard(fn)
  local say, errors, output, said = print, io.stderr, io.output(), {}
  local _ <close> = setmetatable({}, {
    __close = function()
      print, io.stderr = say, errors -- luacheck: ignore
      io.output(output)
    end,
  })
  print = function(...) -- luacheck: ignore
    local words = table.pack(...)
    for k = 1, words.n do words[k] = tostring(words[k]) end
    said[#said + 1] = table.concat(words, "\t") .. "\n"
  end
  io.stderr = { -- luacheck: ignore
    write = function(self, ...)
      said[#said + 1] = table.concat { ... }
      return self
    end,
  }
  local came = fn()
  return table.concat(said), came
end

-- The exit status of a recipe's run, and what it said.
function runs.quietly(...)
  local with = table.pack(...)
  local said, status = runs.heard(function() return run(table.unpack(with, 1, with.n)) end)
  return status, said
end

return runs
