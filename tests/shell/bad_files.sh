# Files that are not what they should be: status 1, the path in the message, nothing left behind.
. "$SOURCE/tests/support/shell.sh"

code() { printf "local rille = require 'rille' %s" "$1"; }

printf 'junkjunkjunk' >junk
: >empty
mkdir folder
mkfifo pipe
for call in 'rille.load' 'rille.io.npy' 'rille.io.npz' 'rille.io.safetensors' 'rille.data.csv' \
  'rille.data.text' 'rille.data.idx'; do
  second=
  [ $call = rille.data.idx ] && second=", 'junk'"
  for path in empty folder pipe missing; do
    says 1 "'$path'" "$RILLE" -e "$(code "$call('$path'$second)")"
  done
  says 1 'the path is empty' "$RILLE" -e "$(code "$call(''$second)")"
done
for call in 'rille.load' 'rille.io.npy' 'rille.io.npz' 'rille.io.safetensors' 'rille.data.csv'; do
  says 1 "'junk'" "$RILLE" -e "$(code "$call 'junk'")"
done

says 1 'what a module holds is module:state_dict()' "$RILLE" -e "$(code "
  rille.save('made', rille.nn.Linear(2, 2))")"
[ ! -e made ] || fail 'a module left a file'

# A file cut short anywhere is refused.
for form in 'rille.save(%q, { x = rille.ones(2, 3), n = 1 })|rille.load' \
  'rille.io.npy(%q, rille.ones(2, 3))|rille.io.npy' \
  'rille.io.npz(%q, { x = rille.ones(2, 3) })|rille.io.npz'; do
  write=${form%|*} read=${form#*|}
  says 0 '^all refused$' "$RILLE" -e "$(code "
    load(('local rille = ... $write'):format 'whole')(rille)
    local whole = assert(io.open('whole', 'rb')):read 'a'
    for n = 0, #whole - 1 do
      local cut = assert(io.open('cut', 'wb'))
      cut:write(whole:sub(1, n))
      cut:close()
      local fine, err = pcall($read, 'cut')
      assert(not fine and err.kind == 'data' and err.message:find 'cut', n)
    end
    print 'all refused'")"
done

# Targets that no file may replace.
for path in folder pipe; do
  says 1 "cannot write '$path'" "$RILLE" -e "$(code "rille.save('$path', { rille.ones(1) })")"
  [ ! -f $path ] && [ ! -e $path.lock ] || fail "$path was replaced, or has a lock"
done
says 1 'no_folder/x' "$RILLE" -e "$(code "rille.save('no_folder/x', { rille.ones(1) })")"
printf 'a,b\n1,2\n3\n' >ragged.csv
says 1 "'ragged.csv' line 3: 1 fields, but the first row has 2" \
  "$RILLE" -e "$(code "rille.data.csv 'ragged.csv'")"

# What nothing waited for is told of all the same.
says 0 "a save that nothing waited for failed: .*no/such" \
  "$RILLE" -e "$(code "rille.save('no/such/x', { 1 }, { async = true })")"
