-- Runs one test file: rille run tests/support/run_lua.lua tests/lua/X_test.lua
-- From a stock Lua the same; a further word `prelude` gives it the libraries of `rille run`.
-- Makes `require "support.test"` and other modules below tests/ known first.
local tests = arg[0]:match("^(.*)/support/[^/]*$") or ".."
package.path = tests .. "/?.lua;" .. package.path
local t = require "support.test"
if arg[2] == "prelude" then require "rille".prelude() end

local chunk, problem = loadfile(arg[1])
local fine = chunk ~= nil
if chunk then fine, problem = xpcall(chunk, t.traceback) end
if not fine then
  t.failed = t.failed + 1
  print("not ok  the file stopped: " .. tostring(problem))
end
os.exit(t.finish())
