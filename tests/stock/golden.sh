# The losses of the small GPT are the same bit for bit from the stock interpreter as from rille run.
. "$SOURCE/tests/support/shell.sh"
test="$SOURCE/tests/support/run_lua.lua $SOURCE/tests/lua/golden_gpt_test.lua"
# shellcheck disable=SC2086  # two words
"$RILLE" run $test >said 2>&1 || { status=$?; cat said; exit $status; }  # 77: no text to train on
grep '  loss ' said >program || fail "no losses" said
# shellcheck disable=SC2086
"$LUA" $test >said 2>&1 || { cat said; exit 1; }
grep '  loss ' said >stock || fail "no losses" said
[ "$(wc -l <stock)" = 20 ] || fail "not 20 losses" stock
cmp program stock || fail "the losses differ"
