# Every way to run a script, what it sees, and the exit status.
. "$SOURCE/tests/support/shell.sh"

mkdir -p app/parts
echo 'return { name = "beside" }' >app/beside.lua
echo 'return { name = "deeper" }' >app/parts/init.lua
printf '#!/usr/bin/env rille\nprint(arg[0], ..., require "beside".name, require "parts".name)\n' \
  >app/main.lua
says 0 '^app/main.lua	a b	beside	deeper$' "$RILLE" run app/main.lua 'a b'
says 0 '^app/main.lua' "$RILLE" app/main.lua x
says 0 '^a	b$' "$RILLE" -e 'print(...)' a b
says 0 '^a	b$' "$RILLE" run -e 'print(...)' a b
echo 'print("from stdin", ...)' >in.lua
says 0 '^from stdin	x$' "$RILLE" - x <in.lua
printf '\357\273\277print "no mark"\n' >mark.lua
says 0 '^no mark$' "$RILLE" run mark.lua
: >empty.lua
"$RILLE" run empty.lua

# Modules as globals, and no shell where there is no terminal.
echo 'return { name = "a module" }' >own.lua
says 0 '^a module$' "$RILLE" -l own -e 'print(own.name)'
says 0 '^a module	x$' "$RILLE" run -l other=own -i -e 'print(other.name, ...)' x </dev/null
says 0 '^a module$' sh -c "echo 'print(own.name)' | '$RILLE' -l own"
says 1 "module 'missing' not found" "$RILLE" -l missing -e 'print "not this"'
says 2 '-l needs the name of a module' "$RILLE" -l
says 2 'not with --sandbox or limits' "$RILLE" run --sandbox -l own -e 'print(1)'
says 2 "did you mean '-e'" "$RILLE" run -ee 'print(1)'

# Several chunks, in order with modules, each with the words; then -i, or what else is piped in.
says 0 '^2$' "$RILLE" -e 'x = 1' -l own -e 'print(own.name)' -e 'print(x + 1)'
says 0 '^b	a$' "$RILLE" run -e 'x = ...' -e 'print(select(2, ...), x)' a b -e
says 1 'first' "$RILLE" -e 'error "first"' -e 'print "second"'
says 5 '' "$RILLE" -e 'os.exit(5)' -e 'print "second"'
says 0 '' "$RILLE" -e 'os.exit(0)' -e 'print "second"'
grep -q second said && fail 'went on after os.exit' said
echo 'global = 7 print(...)' >sets.lua
says 0 '^7$' sh -c "echo 'print(global)' | '$RILLE' -i sets.lua words"
grep -q '^words$' said || fail 'the script had no words' said
says 0 '^8$' sh -c "echo 'print(global + 1)' | '$RILLE' -e 'global = 7' -i"
says 1 'oops' sh -c "echo 'print(1)' | '$RILLE' -e 'error \"oops\"' -i"
grep -q '^1$' said && fail 'went on after an error' said
says 2 'usage: rille run' "$RILLE" -e 'x = 1' -e

says 1 'boom' "$RILLE" -e 'error "boom"'
says 1 'stack traceback' "$RILLE" -e 'error "boom"'
says 1 "in.lua:1: unexpected symbol near '='" sh -c "echo 'x = = 1' >in.lua; $RILLE run in.lua"
says 1 "can't read 'missing.lua': No such file" "$RILLE" run missing.lua
says 1 "can't read 'app': Is a directory" "$RILLE" run app
says 1 "module 'no_such_module' not found" "$RILLE" -e 'require "no_such_module"'
says 1 'nil' "$RILLE" -e 'error(nil)'
says 1 'could not be had' "$RILLE" -e \
  'error(setmetatable({}, { __tostring = function() error "again" end }))'
says 7 '' "$RILLE" -e 'os.exit(7)'
says 0 '' "$RILLE" -e 'os.exit(true)'
says 1 '' "$RILLE" -e 'local closing = { __close = function() print "closed" end }
  local _ <close> = setmetatable({}, closing)
  os.exit(false)'
grep -q '^closed$' said

# Bytecode is refused, and the environment adds nothing.
"$RILLE" -e 'local f = assert(io.open("code.lua", "wb")) f:write(string.dump(print == 1 and nil
  or function() end)) f:close()'
says 1 '^code.lua: this is bytecode, and only text is run$' "$RILLE" run code.lua
LUA_INIT='error "evil"' LUA_PATH='/nowhere/?.lua' says 0 '^fine$' "$RILLE" -e 'print "fine"'
