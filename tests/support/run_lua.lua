-- Runs one test file: rille run tests/support/run_lua.lua tests/lua/X_test.lua
-- Makes `require "support.test"` and other modules below tests/ known first.
local tests = arg[0]:match("^(.*)/support/[^/]*$") or ".."
package.path = tests .. "/?.lua;" .. package.path
local t = require "support.test"

local chunk, problem = loadfile(arg[1])
local fine = chunk ~= nil
if chunk then fine, problem = xpcall(chunk, t.traceback) end
if not fine then
  t.failed = t.failed + 1
  print("not ok  the file stopped: " .. tostring(problem))
end
os.exit(t.finish())
