-- rille.args { name = default | { type, default, required, choices, min, max, help } }: a script's
-- own flags. The words are those of the command line after the file (`arg`), or a list given
-- second.
local fail = require "rille.fail"
local flags = require "rille.flags"

-- Reading a name that was never declared is an error, not nil.
local function guarded(values, entries)
  local known, names = {}, {}
  for i, entry in ipairs(entries) do known[entry.name], names[i] = true, entry.name end
  return setmetatable(values, {
    __index = function(_, name)
      if known[name] or type(name) ~= "string" then return nil end
      fail.argument("args", "no argument '%s' is declared%s", name, fail.suggestion(name, names))
    end,
  })
end

return function(spec, words)
  local entries = flags.declare("args", spec)
  words = words or rawget(_G, "arg") or {}
  local values, help = flags.parse(entries, words)
  if help then
    local script = words[0] and words[0]:match "[^/]+$" or "script"
    print(("usage: rille run %s [flags]\n%s"):format(script, flags.help(entries)))
    fail.exit(0)
  end
  return guarded(flags.fill(entries, values), entries)
end
