# An output that cannot be written: a status of 1 and a line that says so, never silence.
. "$SOURCE/tests/support/shell.sh"

full=/dev/full
[ -c $full ] || { echo "no $full here"; exit 77; }
loop='for i = 1, 200000 do print(i) end'
says 1 'No space left on device' sh -c "$RILLE -e '$loop' >$full"
says 1 'No space left on device' sh -c "$RILLE -e 'print(1)' >$full"
says 1 'No space left on device' sh -c "$RILLE -e 'io.write(1)' >$full"
for words in info help 'help matmul' 'selftest relu' 'bench add'; do
  says 1 'standard output: No space left on device' sh -c "$RILLE $words >$full"
done

# A reader that goes away.
(status=0
 "$RILLE" -e "$loop" 2>said || status=$?
 echo $status >status) | head -n 1 >/dev/null
[ "$(cat status)" = 1 ] || fail "status $(cat status), not 1, with a closed pipe" said
grep -q 'Broken pipe' said || fail "a closed pipe goes unmentioned" said

# A file that may not grow: nothing half-written stays, what was there before does.
says 0 '' "$RILLE" -e 'require "rille".save("kept.safetensors", { x = require "rille".ones(3) })'
cp kept.safetensors before
says 1 "cannot write 'kept.safetensors': File too large" sh -c "ulimit -f 2
  exec $RILLE -e 'require \"rille\".save(\"kept.safetensors\", { require \"rille\".ones(9999) })'"
cmp kept.safetensors before
ls -a | grep -q '\.tmp$' && fail "a temporary is left"
true
