-- Calls that must be refused, as a table: { function, code, part of the message }. The error must
-- be of that code and its text must begin with the line on which the function stands.
local t = require "support.test"

return function(name, cases)
  t.test(name, function()
    for i, case in ipairs(cases) do
      local call, code, message = table.unpack(case)
      local err = t.error_like(call, { code = code, message = message })
      local line = debug.getinfo(call, "S").linedefined
      local said = tostring(err):match "^[^\n]-%.lua:(%d+): "
      t.eq(tonumber(said), line, ("case %d: the line of %q"):format(i, tostring(err)))
    end
  end)
end
