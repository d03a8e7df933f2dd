# Errors as the program shows them: four KiB at most, nothing that a terminal obeys, however the
# script is run; what a script prints itself stays as it is.
. "$SOURCE/tests/support/shell.sh"

# However a script is run.
ways() {
  code=$1
  shift
  printf '%s' "$code" >script.lua
  "$@" "$RILLE" -e "$code"
  "$@" "$RILLE" run script.lua
  "$@" "$RILLE" run --sandbox script.lua
  "$@" "$RILLE" - <script.lua
  "$@" "$RILLE" repl <script.lua
}
is_short() {
  says 1 'bytes more)' "$@"
  [ "$(wc -c <said)" -lt 4200 ] || fail "$(wc -c <said) bytes: $*"
  grep -q "$head" said || fail "without '$head': $*" said
}
is_plain() {
  says 1 "$plain" "$@"
  LC_ALL=C grep -q "$(printf '[\001-\010\013-\037\177]')" said && fail "control bytes: $*" said
  true
}

head='^stack traceback:$'
ways 'error(("x"):rep(1000000))' is_short
ways 'error(("\27"):rep(1000000))' is_short
ways 'error("\nstack traceback:\n" .. ("x"):rep(1000000))' is_short
head='^stack traceback:$'
ways 'local function f() return 1 + f() end f()' says 1 "$head"
head='^long long'
ways 'error(setmetatable({}, { __tostring = function() return ("long "):rep(99999) end }))' is_short

plain='\\027]0;own\\007 \\000 \\255 é	end'
ways 'error("\27]0;own\7 \0 \xff é\tend")' is_plain
plain='\\027'
ways 'error(setmetatable({}, { __tostring = function() return "\27[31m" end }))' is_plain
ways 'require "rille".zeros(1, { device = "\27[31mred" })' is_plain
ways 'require "rille".zeros(1, { ["\27[31mred"] = 1 })' is_plain
red=$(printf '\033[31mred')
says 1 "can't read '\\\\027\\[31mred.lua'" "$RILLE" run "$red.lua"
says 2 "no script '\\\\027\\[31mred'" "$RILLE" "$red"
says 2 'x1b\|027' "$RILLE" run "--$red" x.lua
LC_ALL=C grep -q "$(printf '\033')" said && fail "an escape byte" said

# By a script's own wish.
"$RILLE" -e 'print("\27[31m\255") io.write("\27\n") io.stderr:write("\27[m\n")' >said 2>&1
[ "$(LC_ALL=C tr -cd '\033\377' <said | wc -c)" = 4 ] || fail "print is not raw" said

# Names out of files.
cat >names.lua <<'END'
local rille = require "rille"
local nn = rille.nn
local name = "\27[31mred\nblue\194\155"
rille.save("named.safetensors", { [name] = rille.zeros(1) })
local loaded = rille.load "named.safetensors"
assert(loaded[name])
local said = {}
local function keep(text) said[#said + 1] = tostring(text) end
local function fails(fn, ...)
  local ok, err = pcall(fn, ...)
  assert(not ok)
  keep(err)
  keep(err.message)
  for _, fact in ipairs(err.facts or {}) do keep(fact) end
end
local linear = nn.Linear(1, 1)
fails(linear.load_state_dict, linear, loaded)
local dict = nn.ModuleDict { [name] = nn.Linear(1, 1) }
fails(dict.load_state_dict, dict, loaded)
fails(dict.load_state_dict, dict, { [name] = { weight = rille.zeros(2), bias = rille.zeros(1) } })
keep(dict)
keep(nn.summary(dict))
local opt = rille.optim.SGD(linear:parameters(), { lr = 1 })
local state = opt:state_dict()
fails(opt.load_state_dict, opt, { kind = name, groups = {}, state = {} })
local other = { kind = state.kind, groups = state.groups, state = { [name] = {} } }
fails(opt.load_state_dict, opt, other)
state.groups[1].lr = name
fails(opt.load_state_dict, opt, state)
keep(opt)
for _, text in ipairs(said) do
  assert(not text:find "[\0-\8\11-\31\127]" and not text:find "\194\155", text)
  assert(not text:find "red\nblue", text)
end
assert(table.concat(said):find("red", 1, true))
require "rille.log" { [name] = 1 }
for _ in rille.progress({ 1 }, name) do end
END
"$RILLE" names.lua >said 2>&1 || fail "names are shown as they are" said
LC_ALL=C grep -q "$(printf '\033\|\302\233')" said && fail "names are shown as they are" said
grep -q 'x1b\[31mred.x0ablue' said || fail "names are not shown" said

# A tail call into the library leaves no frame of the script: the function stands for it, or the
# file.
cat >recipe.lua <<'END'
local rille = require "rille"
return rille.recipe {
  name = "../short",
  setup = function(self)
    self.model = rille.nn.Linear(1, 1)
    self.optimizer = rille.optim.SGD(self.model:parameters(), { lr = 0.1 })
  end,
  batches = function(self, args)
    return rille.data.windows(rille.arange(1, 3), { length = args.length, batch = 1 })
  end,
  loss = function(self, batch) return batch.x end,
  args = { length = 8 },
}
END
says 1 '^recipe.lua:8: windows: a window of 8 needs 9 ids, there are 3$' "$RILLE" recipe.lua
says 1 '^   8 | batches = function' "$RILLE" recipe.lua
says 1 "^recipe.lua:11: recipe: 'loss(batch)' must be one number" "$RILLE" recipe.lua --length 2
sed 's/rille.data.windows.*/{}/' recipe.lua >empty.lua
says 1 "^empty.lua:8: recipe: 'batches' gave no batch in epoch 1" "$RILLE" empty.lua --steps 1
printf 'local rille = require "rille"\nreturn rille.recipe { setupp = 1 }\n' >typo.lua
says 1 "^typo.lua: recipe: unknown field 'setupp' (did you mean 'setup'?)" "$RILLE" typo.lua
[ ! -e ../short ] && [ -d runs ] || fail 'a name left the folder of runs'
