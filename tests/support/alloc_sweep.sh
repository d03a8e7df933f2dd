#!/bin/sh
# Runs a script with Lua's k-th allocation failing, for k from 1 until k is past the last one: the
# program may succeed, or say that it is out of memory; it may not crash, abort or hang.
#   alloc_sweep.sh SCRIPT HOW-MANY-IN-A-ROW PERMILLE-OF-GROWTH
# HOW-MANY is 1 (Lua collects and tries again), 2 (an error) or 0 (every one from then on).
set -u
script=$1 count=$2 growth=$3
k=1 runs=0 failures=0
export OMP_NUM_THREADS=1
while :; do
  status=0
  RILLE_FAIL_ALLOC=@$k+$count timeout 60 "$RILLE" run "$script" >out 2>err </dev/null || status=$?
  runs=$((runs + 1))
  case $status in
    0 | 1 | 3) ;;
    *)
      failures=$((failures + 1))
      echo "status $status with allocation $k failing ($count in a row)"
      tail -n 5 err ;;
  esac
  grep -q 'failed on purpose' err || [ $status = 3 ] || break # k is past the last allocation
  k=$((k + 1 + k * growth / 1000))
done
echo "$runs runs up to allocation $k, $failures failures"
[ $failures = 0 ] && [ $runs -gt 50 ]
