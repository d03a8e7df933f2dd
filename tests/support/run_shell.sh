#!/bin/sh
# Runs one shell test in an empty folder of its own, which is removed afterwards.
#   run_shell.sh PROGRAM SCRIPT [ARGUMENT...]
# The test sees RILLE (the program), SOURCE (the source tree) and ARGUMENTs; its status is the
# verdict: 0 passed, 77 skipped (say why on standard output), anything else failed.
set -u
RILLE=$1 script=$2
shift 2
SOURCE=$(cd "$(dirname "$0")/../.." && pwd)
export RILLE SOURCE
folder=$(mktemp -d)
trap 'cd /; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
sh -eu "$script" "$@"
