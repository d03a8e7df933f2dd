#!/bin/sh
# Lua out of memory: each allocation of a small script in turn, in three ways; then the test files
# of tests/lua with every n-th allocation failing.
sweep=$SOURCE/tests/support/alloc_sweep.sh
failures=0
for count in 1 2 0; do
  sh "$sweep" "$SOURCE/tests/support/stress.lua" $count 0 || failures=$((failures + 1))
done

for file in "$SOURCE"/tests/lua/*_test.lua; do
  for n in 9973 20011 50021 100003; do
    status=0
    RILLE_FAIL_ALLOC=$n timeout 300 "$RILLE" run "$SOURCE/tests/support/run_lua.lua" "$file" \
      >out 2>err </dev/null || status=$?
    case $status in
      0 | 1 | 3 | 77) ;;
      *)
        failures=$((failures + 1))
        echo "$(basename "$file"): status $status with every ${n}th allocation failing"
        tail -n 5 err ;;
    esac
  done
done
echo "$failures failures"
[ $failures = 0 ]
