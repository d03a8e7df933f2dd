#!/bin/sh
# A process that may have only so much memory: the script catches E_OOM, drops what it held, and
# goes on, with room for what others need (threads are started only then).
if grep -q __asan_init "$RILLE"; then
  echo "the sanitizer reserves more than any limit"
  exit 77
fi
cat >starved.lua <<'LUA'
local rille = require "rille"
local kept = {}
local fine, err = pcall(function() for i = 1, 10000 do kept[i] = rille.empty(2 ^ 20) end end)
assert(not fine and err.code == "E_OOM" and #kept > 100, tostring(err))
kept = nil
assert(rille.ones(2 ^ 24):sum():item() == 2 ^ 24)
for _ = 1, 200 do rille.ones(2 ^ 22) end
print "went on"
LUA
ulimit -v 1500000
test "$("$RILLE" run starved.lua)" = "went on"
