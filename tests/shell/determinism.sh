# Runs of one recipe: the same bits from run to run with as many threads, and with --deterministic
# whatever their number.
. "$SOURCE/tests/support/shell.sh"
cp "$SOURCE/tests/support/mixed_recipe.lua" mixed.lua

# weights WORD...: the hash of what a run with these flags has learnt.
weights() {
  rm -rf run weights.safetensors
  "$RILLE" mixed.lua --out run "$@" >said.txt 2>&1 || { cat said.txt >&2; return 1; }
  sha256sum <weights.safetensors
}

for threads in 1 2; do
  first=$(weights --threads $threads)
  for run in 2 3; do
    [ "$(weights --threads $threads)" = "$first" ] || fail "run $run with $threads threads differs"
  done
done

first=$(weights --threads 1 --deterministic)
for threads in 1 2 3 4; do
  [ "$(weights --threads $threads --deterministic)" = "$first" ] ||
    fail "with $threads threads --deterministic gives other bits"
done
[ "$(weights --threads 2 --deterministic --seed 1)" != "$first" ] || fail "the seed changes nothing"
