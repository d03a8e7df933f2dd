# The misuse sweep over what scripts see (misuse.lua). Without arguments a short one with a fixed
# seed; with `long` minutes, with a seed from the clock. A call that crashed or never came back is
# the last line of the log.
calls=6000 seed=1 seconds=60
if [ "${1:-}" = long ]; then
  calls=10000000 seed=$(date +%s) seconds=150
fi
"$RILLE" help --luacats . >/dev/null
ls ./*.d.lua | sed 's|^\./||' >names
export OMP_NUM_THREADS=1
status=0
timeout -s KILL $((seconds + 120)) "$RILLE" run "$SOURCE/tests/fuzz/misuse.lua" . \
  --seed "$seed" --calls $calls --seconds $seconds >told 2>warnings || status=$?
cat told
if [ $status -gt 1 ]; then
  tail -n 20 warnings
  echo "seed $seed, status $status in call $(tail -n 1 calls.log)"
fi
[ $status = 0 ] || exit $status

# Declared recipes with wrong fields: an error of ours, never a plain one of Lua's.
runs=25
[ "${1:-}" != long ] || runs=500
for number in $(seq 1 $runs); do
  status=0
  MISUSE_SEED=$((seed + number)) timeout 20 "$RILLE" run "$SOURCE/tests/fuzz/misuse_recipe.lua" \
    >told 2>&1 || status=$?
  if [ $status -gt 3 ] || grep -q 'attempt to\|bad argument\|fault of Rille' told; then
    echo "recipe $((seed + number)), status $status:"
    head -n 5 told
    exit 1
  fi
done
