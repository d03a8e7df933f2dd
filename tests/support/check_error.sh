#!/bin/sh
# A bad script must fail, and say exactly what its .expected file holds.
#   check_error.sh PROGRAM tests/errors/NAME.lua [--update]
# It runs in the script's folder, so that messages name it without a path.
set -u
program=$1 script=$2
expected=${script%.lua}.expected
cd "$(dirname "$script")" || exit 1
said=$(mktemp)
trap 'rm -f "$said"' EXIT

status=0
"$program" run "$(basename "$script")" >/dev/null 2>"$said" </dev/null || status=$?
wanted=1
grep -q 'limit ' "$said" && wanted=3
if [ "$status" != $wanted ]; then
  echo "$script: exit status $status, not $wanted; it said:"
  cat "$said"
  exit 1
fi
if [ "${3:-}" = --update ]; then
  cmp -s "$said" "$expected" || { cp "$said" "$expected" && echo "updated $expected"; }
  exit
fi
if [ ! -f "$expected" ]; then
  echo "$expected is missing; read this, then run scripts/dev/golden_update:"
  cat "$said"
  exit 1
fi
diff -u "$expected" "$said"
