#!/bin/sh
# Runs every ```lua block of a Markdown page, each as a script of its own, in an empty folder.
# Blocks marked ```lua no-run are left out. Messages carry the page's own line numbers.
#   check_page.sh PROGRAM PAGE
set -u
program=$1 page=$2
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'cd /; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
lua5.4 "$here/extract_blocks.lua" "$page" . || exit 1

count=0 failed=0
for block in ./*.lua; do
  [ -e "$block" ] || break
  count=$((count + 1))
  if ! "$program" run "$block" >output 2>&1 </dev/null; then
    echo "$page: the block of $block (page:line) failed:"
    cat output
    failed=$((failed + 1))
  fi
done
echo "$page: $count blocks, $failed failed"
[ "$count" != 0 ] || exit 77
[ "$failed" = 0 ]
