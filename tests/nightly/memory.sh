#!/bin/sh
# Peaks of scripts that never free anything: tests/nightly/memory.lua says what each may take.
if grep -q __asan_init "$RILLE"; then
  echo "the sanitizer's allocator keeps what is freed"
  exit 77
fi
for case in dropped dropped_alone replaced training; do
  timeout 900 "$RILLE" run "$SOURCE/tests/nightly/memory.lua" $case
done
