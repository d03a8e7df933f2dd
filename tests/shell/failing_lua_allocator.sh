# A quick look at Lua running out of memory at any place; tests/nightly tries every allocation.
sh "$SOURCE/tests/support/alloc_sweep.sh" "$SOURCE/tests/support/stress.lua" 2 60
sh "$SOURCE/tests/support/alloc_sweep.sh" "$SOURCE/tests/support/stress.lua" 0 60
