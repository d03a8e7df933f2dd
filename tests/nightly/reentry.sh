# The re-entry sweep for minutes, each with a seed of its own: those of the day, so that every night
# has others. The last lines name a call that fails.
first=$(($(date +%s) / 86400 * 100))
for n in 1 2 3 4 5; do
  "$RILLE" run "$SOURCE/tests/fuzz/reentry.lua" $((first + n)) 60 >log 2>&1 || {
    tail -n 30 log
    exit 1
  }
  tail -n 1 log
done
