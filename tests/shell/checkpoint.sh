# Checkpoint blocks meet a file that can't grow and a signal in their second run.
. "$SOURCE/tests/support/shell.sh"

cat >offload.lua <<'LUA'
local rille = require "rille"
local block = rille.checkpointer { offload = "disk", offload_dir = "." }
local x = rille.ones(1024, 64, { requires_grad = true })
local function f(h) return h:exp():sin() end
local ok, err = pcall(block, f, x)
assert(not ok and err.code == "E_IO", tostring(err))
print(err)
local y = rille.checkpoint(f, x)
y:sum():backward()
assert(x.grad)
LUA
(
  trap '' XFSZ
  ulimit -f 8
  "$RILLE" run offload.lua
) >said 2>&1 || fail "the script did not go on" said
grep -q "offload.lua:5: .*can't write a file for offloaded values" said || fail "not told" said

cat >endless.lua <<'LUA'
local rille = require "rille"
local x = rille.ones(3, { requires_grad = true })
local again = false
local y = rille.checkpoint(function(h)
  if again then io.open("begun", "w"):close() end
  while again do pcall(h.exp, h:detach()) end
  return h:exp()
end, x)
again = true
y:sum():backward()
LUA
interrupted begun "$RILLE" run endless.lua
