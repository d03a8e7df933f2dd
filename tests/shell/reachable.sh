# What scripts in the sandbox reach is what reachable.txt lists, and nothing else. A name that is
# public from now on goes into the list by hand, once it is clear that a stranger may have it.
. "$SOURCE/tests/support/shell.sh"
names=$("$RILLE" -e 'print(table.concat(getmetatable(require "rille").names(), " "))')
modules=$(cd "$SOURCE/stdlib" && find rille -name '*.lua' | LC_ALL=C sort |
  sed 's,/init\.lua$,,; s,\.lua$,,; y,/,.,')
methods=$(cd "$SOURCE/stdlib" && grep -rhoE '^ *function [A-Za-z]+[:.][a-z_]+' rille |
  sed 's/.*[:.]/./' | LC_ALL=C sort -u)
# shellcheck disable=SC2086
"$RILLE" run --sandbox "$SOURCE/tests/support/reach.lua" $names $modules rille.native $methods \
  >found 2>said || fail "the walk failed" said
diff "$SOURCE/tests/support/reachable.txt" found >differs ||
  fail "what scripts reach has changed" differs
