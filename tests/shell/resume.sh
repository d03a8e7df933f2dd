# Going on with a run: what is refused, what is passed over, and what is said about it.
. "$SOURCE/tests/support/shell.sh"
cp "$SOURCE/tests/support/resumable_recipe.lua" r.lua
recipe() { "$RILLE" r.lua "$@"; }
step() { echo "$1/checkpoints/step-$2.safetensors"; }
flip() { # a bit in the middle of a file
  at=$(($(wc -c <"$1") / 2))
  printf '\377' | dd of="$1" bs=1 seek=$at conv=notrunc 2>/dev/null
}

# ---- one run a folder: the holder is named, a dead one does not matter
"$RILLE" r.lua --steps 100000 --out run --set save.every=1 >out 2>&1 &
pid=$!
wait_for run/checkpoints/last.safetensors
says 5 "'run' is in use by another run" recipe --out run --resume
grep -q "pid $pid " said || fail "the holder $pid is not named" said
says 5 "in use by another run" recipe --out run
kill -9 $pid
wait $pid 2>/dev/null || true
says 0 'resumed at step' recipe --out run --resume --eval-only
says 0 'resumed at step' recipe --out run --resume --steps 1

# ---- a folder is gone on with or given up, never mixed
says 1 "'run' holds the checkpoints of a run" recipe --out run --steps 2
says 0 '' recipe --out run --steps 2 --force
[ "$(ls run/checkpoints)" = "$(printf 'LOCK\nlast.safetensors\nstep-2.safetensors')" ] ||
  fail "the old run is still there"
grep -q '"step":[3-9]' run/metrics.jsonl && fail "the old metrics are still there"

# ---- arguments: those that matter are listed, the others may change
says 0 '' recipe --out a --steps 10
says 1 'arguments changed since the checkpoint' \
  recipe --out a --resume --lr 0.5 --seed 3 --set accumulate=1 --steps 11
for line in '--lr was 0.01, is 0.5' '--seed was 0, is 3' '--set accumulate was nothing, is 1'; do
  grep -q -e "$line" said || fail "not said: $line" said
done
says 0 'resumed at step 10' recipe --out a --resume --steps 12 --workers 0 --set save.every=3
says 0 'changed since' recipe --out a --resume --steps 13 --lr 0.5 --force
says 1 'no state of .lr_average' "$RILLE" -e '
  local r = assert(loadfile "r.lua")()
  local setup = r.fields.setup
  r.fields.setup = function(self, args)
    setup(self, args)
    self.lr_average, self.average = self.average, nil
  end
  return require "rille.recipe.run"(r, { "--out", "a", "--resume", "--lr", "0.5" })'
grep -q "the recipe has no state of 'average'" said || fail "the other side is not named" said

# ---- damage: the newest that is whole, and why not the newest; --strict refuses
says 0 '' recipe --out d --steps 15
flip "$(step d 15)"
says 4 "the newest checkpoint in 'd' can't be used" recipe --out d --resume --strict
says 0 'resumed at step 10' recipe --out d --resume --steps 15
grep -q 'fails its checksum' said || fail "no reason" said
[ -f "$(step d 15).broken" ] || fail "the damaged file is not kept"
says 0 'resumed at step 15' recipe --out d --resume --strict --steps 16
head -c 300 "$(step d 16)" >cut
mv cut "$(step d 16)"
says 0 'resumed at step 15' recipe --out d --resume --steps 15
"$RILLE" -e "require 'rille'.save('$(step d 17)', { weights = require 'rille'.ones(3) })"
rm -f "$(step d 17).lock"
says 0 'no checkpoint of a recipe' recipe --out d --resume --steps 15
for f in d/checkpoints/step-*.safetensors; do : >"$f"; done
says 4 "no usable checkpoint in 'd'" recipe --out d --resume

# ---- a saver that was killed before its rename leaves a temporary: not read, and cleared away
says 0 '' recipe --out h --steps 5
torn=h/checkpoints/.step-7.safetensors.0123456789abcdef.tmp
head -c 500 "$(step h 5)" >$torn
says 0 'resumed at step 5' recipe --out h --resume --steps 6
[ ! -e $torn ] || fail "the temporary is still there"

# ---- a disk that is full: the old checkpoint stays, no temporary, and the error says so
for async in false true; do
  rm -rf f
  says 0 '' recipe --out f --steps 5
  blocks=$(($(wc -c <"$(step f 5)") / 1024 - 1))
  status=0
  (ulimit -f $blocks && recipe --out f --resume --steps 10 --set save.async=$async) >said 2>&1 ||
    status=$?
  [ $status = 1 ] || fail "status $status on a full disk, async $async" said
  grep -q "step-10.safetensors': File too large" said || fail "not said, async $async" said
  ls -a f/checkpoints | grep -q '\.tmp$' && fail "a temporary is left"
  says 0 'resumed at step 5' recipe --out f --resume --strict --steps 10
done

# ---- a folder that may not be written to
if [ "$(id -u)" != 0 ]; then
  mkdir shut
  chmod a-w shut
  says 1 "'shut/run': Permission denied" recipe --out shut/run --steps 1
fi
says 2 'save.keep must be 2 or more' recipe --out k --set save.keep=1
says 2 "save.on_error must be 'stop' or 'continue', got no" recipe --out k --set save.on_error=no
says 2 'save.grace must be a number of seconds above 0, got 0' recipe --out k --set save.grace=0
echo done
