# rille check: what it finds in scripts and recipes, and what it leaves alone.
. "$SOURCE/tests/support/shell.sh"
cp "$SOURCE/tests/support/tiny_recipe.lua" tiny.lua
check() { "$RILLE" check "$@"; }
text() { # text 'LUA': the script s.lua
  printf '%s\n' "$1" >s.lua
}

says 0 '^tiny.lua: ok: syntax, names, setup, a step$' check tiny.lua --width 8
[ ! -d runs ] || fail "a check made a run folder"
says 0 'usage: rille check tiny.lua' check tiny.lua --help
says 0 'Any other script is not run' check --help
says 2 'usage: rille check' check
says 2 'usage: rille check' check --width 3
says 1 "can't read 'none.lua': No such file" check none.lua
says 2 "unknown flag '--widht' (did you mean '--width'?)" check tiny.lua --widht 3
says 2 'width: must be an integer' check tiny.lua --width x

# ---- every recipe that comes with Rille, each in less than a second
for script in "$SOURCE"/scripts/*.lua; do
  began=$(date +%s%N)
  set --
  case $script in *char_gpt*) set -- --text "$SOURCE/README.md" ;; esac
  says 0 'ok: syntax' check "$script" "$@"
  took=$((($(date +%s%N) - began) / 1000000))
  echo "$(basename "$script"): $took ms"
  [ $took -lt 1000 ] || [ -n "${ASAN_OPTIONS:-}" ] || fail "$script took $took ms"
done

# ---- syntax
text 'local x = = 3'
says 1 "^s.lua:1: unexpected symbol near '='" check s.lua
text 'for i = 1, 2 do'
says 1 "^s.lua:2: 'end' expected" check s.lua

# ---- names, without running the script
text 'local rille = require "rille"
local nn, optim = rille.nn, rille.optim
os.execute "touch ran"
local l = nn.Liner(3, 4)
local o = optim.AdmaW(l:parameters())
print(rille.sofmax(l))'
says 1 "^s.lua:4: rille.nn: has no 'Liner' (did you mean 'Linear'?)" check s.lua
grep -q "^   4 | local l = nn.Liner(3, 4)$" said || fail "no source line" said
grep -q "^     |              ^~~~~$" said || fail "no caret" said
grep -q "^s.lua:5: rille.optim: has no 'AdmaW'" said || fail "only the first is told of" said
grep -q "^s.lua:6: rille: has no 'sofmax' (did you mean 'softmax'?)" said || fail "no third" said
[ ! -e ran ] || fail "it was run"

# ---- what only looks like one
text '#!/usr/bin/env rille
local rille = require "rille"
local nn = rille.nn -- nn.Liner
local text = "nn.Liner" .. [[ nn.Liner ]] .. [==[ ]] nn.Liner ]==] --[[ nn.Liner ]]
local t = { nn = 3, rille = { none = 2 } }
do local data = rille.data end
local function f(data) return data.anything, t.nn, t.rille.none, 0x1p4, 1e-3, 3 .. 4, #t // 2 end
function t.none:more(a, ...) local x <const> = self return x, a, ... end
do goto done ::done:: end
local optim = rille.optim
optim = { anything = 1 }
print(optim.anything, f, nn.Linear, text)'
says 0 'it gives no recipe and was not run' check s.lua
grep -q 'options, shapes and dtypes were not checked' said || fail "what is not checked" said
text 'return 3'
says 0 'it gave no recipe' check s.lua

# ---- of recipes: globals, options, shapes, dtypes, in setup, loss and evaluation
with() { # with FROM TO: tiny.lua, changed
  sed "s/$1/$2/" tiny.lua >changed.lua
  check changed.lua
}
says 1 "changed.lua:15: 'prnt' is not defined (did you mean 'print'?)" with 'return self.model' \
  'if false then prnt(1) end return self.model'
says 1 "changed.lua:9: Linear: unknown option 'bais' (did you mean 'bias'?)" with 'args.width, 1)' \
  'args.width, 1, { bais = false })'
says 1 "recipe: unknown field 'losss' (did you mean 'loss'?)" with 'loss = ' 'losss = '
says 1 "changed.lua:15: linear: inner sizes differ: 2 and 4" with 'model(batch.x)' \
  'model(batch.x:narrow(2, 1, 2))'
says 1 "'target' must be i64 or i32, got f32" with 'return self.model(batch.x):square():mean()' \
  'return rille.cross_entropy(self.model(batch.x), batch.x:select(2, 1))'
says 1 "changed.lua:15: recipe: 'loss(batch)' must be one number" with ':square():mean()' ''
says 1 'changed.lua:9: no luck' with 'self.model = ' 'error "no luck" self.model = '
says 1 "no argument 'widht' is declared (did you mean 'width'?)" with 'nn.Linear(args.width' \
  'nn.Linear(args.widht'
says 1 'inner sizes differ: 3 and 4' with 'batches = function(_, args)' \
  'evaluate = { batches = 1 }, batches = function(_, args, split) \
    if split == "val" then return { { x = rille.ones(2, 3) } } end'

# ---- what meta can't tell is no mistake
says 0 "can't run on meta" with 'return self.model(batch.x)' \
  'print(batch.x:sum():item()) return self.model(batch.x)'
grep -q 'item: a meta tensor has no values' said || fail "not which line" said
says 0 'ok: syntax, names, setup, a step$' with 'return self.model(batch.x)' \
  'rille.log { sum = batch.x:sum() } return self.model(batch.x)'

# ---- a recipe of another file, and one that runs itself
text 'return require "tiny"'
says 0 's.lua: ok: syntax, names, setup, a step' check s.lua
text 'local recipe = require "tiny"
recipe:run { "--steps", "3" }
return nil'
says 0 'ok: syntax, names, setup, a step' check s.lua
[ ! -d runs ] || fail "a check made a run folder"

# ---- a signal ends what does not end
sed 's/self.model = /io.open("begun", "w"):close() while true do end &/' tiny.lua >endless.lua
interrupted begun "$RILLE" check endless.lua
