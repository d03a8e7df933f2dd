# The blocks of docs/stock-lua.md run from the stock interpreter, too.
. "$SOURCE/tests/support/shell.sh"
lua5.4 "$SOURCE/tests/support/extract_blocks.lua" "$SOURCE/docs/stock-lua.md" .
for block in ./*.lua; do says 0 '' "$LUA" "$block"; done
