# rille plan: its table, its JSON, its advice, what it refuses; its peak against that of a run.
. "$SOURCE/tests/support/shell.sh"
cp "$SOURCE/tests/support/tiny_recipe.lua" tiny.lua
plan() { "$RILLE" plan "$@"; }

# ---- the table
says 0 '^tiny: 5 parameters$' plan tiny.lua
grep -q '^precision  blocks  parameters  gradients  optimizer' said || fail "no header" said
grep -q '^off .* \*$' said || fail "the setting of a run is not marked" said
[ "$(grep -c '^off\|^bf16\|^f16' said)" -ge 3 ] || fail "not each precision" said
says 0 '^bf16 .* \*$' plan tiny.lua --amp bf16
[ "$(grep -c '^off\|^f16' said)" = 0 ] || fail "other precisions than asked for" said
says 0 '^f8 .* \*$' plan tiny.lua --set amp=f8
says 0 '^tiny: 9 parameters$' plan tiny.lua --width 8
[ ! -d runs ] || fail "a plan made a run folder"

# ---- JSON
plan --json tiny.lua --width 8 >rows
[ "$(grep -c '^{.*}$' rows)" -ge 3 ] || fail "not an object a line" rows
head -n 1 rows >row
for field in '"parameters":9,' '"parameter_bytes":36,' '"gradient_bytes":36,' '"data_bytes":64,' \
  '"optimizer_bytes":0,' '"precision":"off"' '"blocks":"off"' '"default":true' '"nproc":1' \
  '"recipe":"tiny"' '"script":"tiny.lua"' '"flops":64,' '"extra_flops":0,'; do
  grep -qF "$field" row || fail "no $field" row
done
plan --json tiny.lua --width 8 --nproc 4 | head -n 1 >row
grep -qF '"bucket_bytes":36' row || fail "no copy of the gradients" row

# ---- checkpoint blocks
cp "$SOURCE/benchmarks/models.lua" .
cp "$SOURCE/tests/support/planned_recipe.lua" planned.lua
says 0 'not with checkpoint blocks: .*finds no blocks' plan tiny.lua
[ "$(grep -c 'finds no blocks' said)" = 1 ] || fail "it is told more than once" said
says 1 'finds no blocks' plan tiny.lua --checkpoint-blocks cheap
says 0 '^off  *full .* \*$' plan planned.lua --kind gpt --amp off --checkpoint-blocks
[ "$(grep -c '^off  *off .*-$' said)" = 1 ] || fail "not beside what it is without" said
says 0 '^off  *cheap .* +0.0 %$' plan planned.lua --kind gpt --amp off
says 0 '^off  *full .* +3[0-9].[0-9] %$' plan planned.lua --kind gpt --amp off
says 0 '^bf16  *0.5 .* \*$' plan --checkpoint-blocks 0.5 planned.lua --kind gpt --amp bf16
says 1 "unknown policy 'fulll' (did you mean 'full'?)" \
  plan planned.lua --kind gpt --checkpoint-blocks fulll
says 0 'with the fewest operations: --amp off --checkpoint-blocks cheap' \
  plan --memory 75MiB planned.lua --kind gpt

# ---- advice
says 0 'fits into 8.00 GiB with the fewest operations: --amp off' plan --memory 8GiB tiny.lua
says 0 'fits into .*: --amp bf16' plan tiny.lua --memory=8GiB --set amp=bf16
says 1 'nothing fits into 10 B; the smallest is --amp ' plan tiny.lua --memory 10
says 0 '"best":true' plan --json --memory 1MiB tiny.lua
says 1 '"fits":false' plan --json --memory 10 tiny.lua

# ---- a recipe's own flags go first
sed 's/width = 4/width = 4, memory = 5/' tiny.lua >own.lua
says 0 'parameters$' plan own.lua --memory 7
says 0 'fits into 8.00 GiB' plan --memory 8GiB own.lua --memory 7

# ---- what setup prints is not part of it
sed 's/setup = function(self, args)/& print("from setup")/' tiny.lua >prints.lua
plan prints.lua >out 2>err
! grep -q 'from setup' out || fail "setup's words are on standard output" out
[ "$(cat err)" = 'from setup' ] || fail "setup's words are not told once" err

# ---- wrong usage
says 2 'usage: rille plan' plan
says 2 'usage: rille plan' plan --json
says 0 '-amp PRECISION  *only this one' plan --help
says 0 'usage: rille plan tiny.lua' plan tiny.lua --help
says 1 "can't read 'none.lua': No such file" plan none.lua
says 2 "unknown flag '--memroy' (did you mean '--memory'?)" plan --memroy 8GiB tiny.lua
says 2 "unknown flag '--memroy' (did you mean '--memory'?)" plan tiny.lua --memroy 8GiB
says 2 "unknown flag '--widht' (did you mean '--width'?)" plan tiny.lua --widht 8
for size in 8bananas -3 0 GiB 1e400; do
  says 2 "'$size' is not a size such as '8GiB'" plan tiny.lua --memory="$size"
done
says 2 'memory: needs a value' plan tiny.lua --memory
says 2 'nproc: must be at least 1' plan tiny.lua --nproc 0
says 2 "amp: must be one of off, bf16, f16, f8, got 'f15'" plan tiny.lua --amp f15
says 2 "'tpu' is no device" plan tiny.lua --device tpu
says 0 'parameters$' plan tiny.lua --device cuda:1
echo 'return 3' >three.lua
says 2 "'three.lua' returns no recipe" plan three.lua
cat >loop.lua <<'LUA'
local rille = require "rille"
io.stderr:write "this trains\n"
rille.ones(1, { requires_grad = true }):sum():backward()
return 3
LUA
says 2 "'loop.lua' returns no recipe" plan loop.lua
! grep -q 'this trains' said || fail "a script without a recipe was run" said
echo 'local x = = 3' >syntax.lua
says 1 "syntax.lua:1: unexpected symbol near '='" plan syntax.lua

# ---- mistakes of a recipe, as in a run
with() { # with FROM TO: tiny.lua, changed
  sed "s/$1/$2/" tiny.lua >changed.lua
  shift 2
  plan changed.lua "$@"
}
says 1 'changed.lua:9: no luck' with 'self.model = ' 'error "no luck" self.model = '
says 1 "changed.lua:15: recipe: 'loss(batch)' must be one number.*got f32\[2, 1\]" \
  with ':square():mean()' ''
says 1 'changed.lua:15: linear: inner sizes differ: 2 and 4' with 'model(batch.x)' \
  'model(batch.x:narrow(2, 1, 2))'
says 1 "hint: nothing is computed in a plan" with ':square():mean()' ':square():mean():item()'
says 1 'self.optimizer' with 'self.optimizer = ' 'local _ = '
says 1 "'batches' gave no batch" with 'return function() .* end' 'return {}'
says 1 "cannot open 'none.txt': No such file" plan "$SOURCE/scripts/char_gpt.lua" --text none.txt
says 2 'text is missing' plan "$SOURCE/scripts/char_gpt.lua"

# ---- a signal ends what does not end
sed 's/self.model = /io.open("begun", "w"):close() while true do end &/' tiny.lua >endless.lua
interrupted begun "$RILLE" plan endless.lua
grep -q 'endless.lua:9: stopped by SIGINT' said || fail "not told of the signal" said

# ---- within a tenth of the fourth step of a run (tests/nightly/planned_peaks.sh: more models)
. "$SOURCE/tests/support/planned.sh"
planned_within_a_tenth 'mlp off'
