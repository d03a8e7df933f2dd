# SIGINT and SIGTERM end a script in order, with 130 and 143, wherever it is; a recipe saves first.
. "$SOURCE/tests/support/shell.sh"

# interrupted SIGNAL STATUS TEXT CODE: the script says "ready" when the signal may come.
interrupted() {
  rm -f ready
  "$RILLE" -e "$4" >out 2>said </dev/zero &
  pid=$!
  wait_for ready
  kill -"$1" $pid
  status=0
  wait $pid || status=$?
  cat out said >both
  [ $status = "$2" ] || fail "status $status, not $2, after SIG$1: $4" both
  grep -q "$3" both || fail "SIG$1 gave not '$3': $4" both
}

ready='io.open("ready", "w"):close()'
interrupted INT 130 'stopped by SIGINT' "$ready while true do end"
interrupted TERM 143 'stopped by SIGTERM' "$ready while true do end"
interrupted INT 130 'stopped by SIGINT' "local r = require 'rille' local x = r.ones(64, 64)
  $ready while true do x:matmul(x) end"
interrupted INT 130 'stopped by SIGINT' "local r = require 'rille'
  coroutine.wrap(function() local x = r.ones(256, 256) $ready while true do x:matmul(x) end end)()"
interrupted INT 130 'stopped by SIGINT' "coroutine.wrap(function() $ready while true do end end)()"
interrupted INT 130 '^false.*stopped by SIGINT' "
  local inner = coroutine.create(function() $ready while true do end end)
  local outer = coroutine.create(function() error(select(2, coroutine.resume(inner)), 0) end)
  local ok, why = coroutine.resume(outer) print(ok, why) error(why, 0)"
interrupted INT 130 'closed in order' "local _ <close> = setmetatable({}, {
  __close = function() print 'closed in order' end }) $ready while true do end"
interrupted INT 130 'E_INTERRUPTED' "local ok, err = pcall(function() $ready while true do end end)
  print(err.code) error(err)"
interrupted TERM 143 'stopped' "local r = require 'rille' local set = {}
  for i = 1, 4 do set[i] = { x = r.ones(1) } end
  $ready while true do for b in r.data.Loader(set, { batch = 2, workers = 2 }) do end end"
interrupted INT 130 'stopped by SIGINT' "local r = require 'rille'
  local function hang() while true do end end
  $ready for b in r.data.Loader({ 1, 2 }, { workers = 2, transform = hang }) do end"

# The second one kills, where the first is not heeded.
rm -f ready
"$RILLE" -e "$ready while true do pcall(function() while true do end end) end" &
pid=$!
wait_for ready
kill -INT $pid
sleep 0.3
kill -INT $pid
status=0
wait $pid || status=$?
[ $status = 130 ] || fail "status $status, not 130, after the second SIGINT"

# terminated FILE FLAG...: a recipe gets SIGTERM once FILE of its folder `run` is there; what it
# printed stays in the file `said`.
terminated() {
  awaited=$1
  shift
  "$RILLE" tiny.lua --steps 1000000 --out run "$@" >out 2>said &
  pid=$!
  wait_for "run/$awaited"
  kill -TERM $pid
  status=0
  wait $pid || status=$?
  [ $status = 143 ] || fail "status $status, not 143, of a recipe after SIGTERM" said
}

# A recipe saves its state, and goes on from there.
cp "$SOURCE/tests/support/tiny_recipe.lua" tiny.lua
terminated metrics.jsonl
test -f run/checkpoints/last.safetensors
ls -a run/checkpoints | grep -q '\.tmp$' && fail "a temporary is left"
says 0 'resumed at step' "$RILLE" tiny.lua --resume run --steps 5 --out again

# It does so where there is time for it: as much as the last save took.
sed -i 's/^  name = /  save = { every = 20, grace = 60.0, keep = 2 },\n&/' tiny.lua
rm -r run
terminated checkpoints/last.safetensors
grep -q '; saved run/' said || fail "a minute is enough for a save" said
rm -r run
terminated checkpoints/last.safetensors --set save.grace=1e-9
grep -q 'not saved: that took .* s and save.grace is 1e-09 s' said || fail "it had no time" said
says 0 'resumed at step' "$RILLE" tiny.lua --resume run --steps 100 --set save.grace=1 --out more

# A worker that waits for another program does not keep the end of a script waiting for long.
says 1 'no batch within 0.2 seconds' timeout 20 "$RILLE" -e "local r = require 'rille'
  local set = r.data.table { x = r.ones(4) }
  for _ in r.data.Loader(set, { workers = 1, timeout = 0.2,
    transform = function() os.execute 'sleep 30' end }) do end"
