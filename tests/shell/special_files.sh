# Standard streams that are closed, and pipes, devices and folders in the place of a run's files:
# said, never waited for, never the end by a signal.
. "$SOURCE/tests/support/shell.sh"

# ---- without standard streams
closed() { # STATUS WORDS...: with outputs closed, and with all three
  wanted=$1
  shift
  for how in '>&- 2>&-' '<&- >&- 2>&-' '2>&- >/dev/full'; do
    status=0
    eval 'timeout 20 "$RILLE" "$@"' "$how" || status=$?
    [ "$status" = "$wanted" ] || fail "status $status, not $wanted, with $how: $*"
  done
}
closed 1 run -e 'print(1)'
closed 1 run -e 'error "x"'
closed 2 run
closed 2 no_such_command
closed 1 info
closed 1 help matmul

# A file that a script opens is not the standard output.
cat >own.lua <<'END'
local f <close> = io.open("kept", "w")
pcall(print, "stray")
f:write "own"
END
"$RILLE" run own.lua >&- 2>&- || true
[ "$(cat kept)" = own ] || fail "print wrote into a file" kept

# ---- in the place of a run's files
cp "$SOURCE/tests/support/resumable_recipe.lua" r.lua
recipe() { timeout 60 "$RILLE" r.lua "$@"; }
says 0 '' recipe --out a --steps 10
for kind in pipe folder device; do
  rm -rf b
  cp -R a b
  rm b/metrics.jsonl
  case $kind in
    pipe) mkfifo b/metrics.jsonl ;;
    folder) mkdir b/metrics.jsonl ;;
    device) ln -s /dev/zero b/metrics.jsonl ;;
  esac
  says 0 "cannot write 'b/metrics.jsonl': not a regular file" recipe --out b --resume --steps 12
  grep -q 'resumed at step 10' said || fail "did not go on beside a $kind" said
done
rm -rf b
cp -R a b
rm b/config.json
mkfifo b/config.json
says 0 'resumed at step 10' recipe --out b --resume --steps 12
rm -rf b
cp -R a b
rm b/r.lua
mkfifo b/r.lua
says 0 'resumed at step 10' recipe --out b --resume --steps 12
rm -rf b
cp -R a b
rm b/LOCK
mkfifo b/LOCK
says 1 "cannot lock 'b/LOCK': not a regular file" recipe --out b --resume --steps 12
rm -rf b
cp -R a b
newest=$(ls b/checkpoints | grep '^step-' | sort -t- -k2 -n | tail -n 1)
rm "b/checkpoints/$newest"
mkfifo "b/checkpoints/$newest"
says 4 "$newest" recipe --out b --resume --strict

# ---- a checkpoint under the name of another step
rm -rf b
cp -R a b
mv b/checkpoints/step-10.safetensors b/checkpoints/step-99.safetensors
says 4 'it holds step 10, its name says 99' recipe --out b --resume --strict
says 4 'it holds step 10, its name says 99' \
  recipe --resume b/checkpoints/step-99.safetensors --out c
