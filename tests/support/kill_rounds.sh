# kill_rounds ROUNDS SEED: runs the resumable recipe, kills it at random moments until it gets to
# its end, and wants the hash of the run that nobody killed. Every other round goes on with another
# number of workers each time, and saves in the background.
. "$SOURCE/tests/support/shell.sh"
recipe=$SOURCE/tests/support/resumable_recipe.lua

# hash FOLDER: of all that the last checkpoint holds, arguments aside.
hash() {
  "$RILLE" "$SOURCE/tests/support/state_of.lua" "$1/checkpoints/step-60.safetensors" "$1.state"
  sha256sum <"$1.state"
}

# Milliseconds since some day.
now() { echo $(($(date +%s%N) / 1000000)); }

# moments COUNT SEED LIMIT: so many random numbers of seconds below LIMIT milliseconds.
moments() {
  awk -v n="$1" -v seed="$2" -v limit="$3" \
    'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.3f\n", rand() * limit / 1000 }'
}

# killed_after SECONDS COMMAND...: the status is 137 where the kill came before the end.
killed_after() {
  seconds=$1
  shift
  "$@" >>said 2>&1 &
  victim=$!
  { sleep "$seconds"; kill -9 $victim; } 2>/dev/null &
  killer=$!
  status=0
  wait $victim 2>/dev/null || status=$?
  kill $killer 2>/dev/null || true
  wait $killer 2>/dev/null || true
  return $status
}

kill_rounds() {
  rounds=$1 seed=$2
  began=$(now)
  "$RILLE" "$recipe" --out whole >said 2>&1 || fail "the whole run failed" said
  took=$(($(now) - began))
  wanted=$(hash whole)
  kills=0 resumed=0 round=0
  for moment in $(moments $((rounds * 50)) "$seed" "$took"); do
    folder=cut$round
    resume=
    if ls $folder/checkpoints/step-*.safetensors >/dev/null 2>&1; then
      resume=--resume resumed=$((resumed + 1))
    fi
    flags="--workers 2"
    [ $((round % 2)) = 0 ] || flags="--workers $((kills % 4)) --set save.async=true"
    status=0
    # shellcheck disable=SC2086
    killed_after "$moment" "$RILLE" "$recipe" --out $folder $resume $flags || status=$?
    if [ $status = 137 ]; then
      kills=$((kills + 1))
      continue
    fi
    [ $status = 0 ] || fail "seed $seed, round $round: status $status" said
    [ "$(hash $folder)" = "$wanted" ] || fail "seed $seed, round $round: another result"
    rm -rf $folder
    round=$((round + 1))
    [ $round -lt "$rounds" ] || break
  done
  [ $round = "$rounds" ] || fail "seed $seed: only $round of $rounds rounds came to an end"
  echo "$rounds rounds, $kills kills, $resumed resumed, 0 other results; seed $seed"
}
