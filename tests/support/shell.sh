# For tests of the shell: . "$SOURCE/tests/support/shell.sh"

# fail TEXT [FILE]: ends the test, showing what was said.
fail() {
  echo "$1"
  [ $# -lt 2 ] || sed 's/^/    /' "$2"
  exit 1
}

# says STATUS PATTERN COMMAND...: the command ends with that status and says that, on either output;
# what it said stays in the file `said`.
says() {
  wanted=$1 pattern=$2
  shift 2
  status=0
  "$@" >said 2>&1 || status=$?
  [ "$status" = "$wanted" ] || fail "status $status, not $wanted: $*" said
  grep -q -e "$pattern" said || [ -z "$pattern" ] || fail "says not '$pattern': $*" said
}

# wait_for FILE: at most ten seconds.
wait_for() {
  n=0
  until [ -e "$1" ]; do
    n=$((n + 1))
    [ $n -lt 200 ] || fail "'$1' never came"
    sleep 0.05
  done
}

# interrupted FILE COMMAND...: SIGINT, once the command has made FILE, ends it with status 130; what
# it said is in `said`.
interrupted() {
  begun=$1
  shift
  "$@" >said 2>&1 &
  id=$!
  wait_for "$begun"
  kill -INT $id
  status=0
  wait $id || status=$?
  [ $status = 130 ] || fail "status $status after SIGINT" said
}
