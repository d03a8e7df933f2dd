# Ctrl-C in the stock interpreter, which sets a hook: the script stops; what pcall keeps goes on.
. "$SOURCE/tests/support/shell.sh"
case $("$LUA" -v 2>&1) in
  Lua*) ;;
  *) echo "not the stock interpreter"; exit 77 ;;
esac

# interrupted STATUS TEXT CODE
interrupted() {
  rm -f ready
  "$LUA" -e "$3" >out 2>said &
  pid=$!
  wait_for ready
  kill -INT $pid
  status=0
  wait $pid || status=$?
  cat out said >both
  [ $status = "$1" ] || fail "status $status, not $1: $3" both
  grep -q "$2" both || fail "gave not '$2': $3" both
}

begin='local rille = require "rille" local x = rille.ones(64, 64)
  local function ready() io.open("ready", "w"):close() end'
interrupted 1 'interrupted!' "$begin ready() while true do x = x:matmul(x):tanh() end"
interrupted 0 '^4096.0$' "$begin
  pcall(function() ready() while true do x:matmul(x):tanh() end end) print(x:sum():item())"
interrupted 1 'interrupted!' "$begin
  local set = {} for i = 1, 9 do set[i] = { x = x } end
  ready() while true do for b in rille.data.Loader(set, { batch = 2, workers = 2 }) do end end"
