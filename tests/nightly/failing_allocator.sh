#!/bin/sh
# Every test file of tests/lua with its N-th allocation failing, for N along a widening sweep: the
# program may succeed, or say that it is out of memory; it may not crash, abort or hang.
#   $1 is the preloaded library of tests/support/failing_malloc.c
shim=$1
# Without oneDNN, whose own initialisers end the process if they get no memory.
export OMP_NUM_THREADS=1 RILLE_ONEDNN=off
failures=0 runs=0

for file in "$SOURCE"/tests/lua/*_test.lua; do
  [ -e "$file" ] || { echo "no Lua tests yet"; exit 77; }
  n=1
  while :; do
    status=0
    LD_PRELOAD=$shim FAILING_MALLOC_AT=$n FAILING_MALLOC_COUNT=2 timeout 120 \
      "$RILLE" run "$SOURCE/tests/support/run_lua.lua" "$file" >out 2>err || status=$?
    runs=$((runs + 1))
    case $status in
      0 | 1 | 3 | 77) ;;
      *)
        failures=$((failures + 1))
        echo "$(basename "$file"): status $status with allocation $n failing"
        tail -n 5 err ;;
    esac
    grep -q '^failing_malloc: ' err || break # N is past the last allocation
    n=$((n + 1 + n / 10))
  done
done
echo "$runs runs, $failures failures"
[ $failures = 0 ]
