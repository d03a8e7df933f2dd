# Recipes from the stock interpreter: a plain script as it is, a declared one by recipe:run.
. "$SOURCE/tests/support/shell.sh"

# The same bits as rille run gives.
cp "$SOURCE/tests/support/mixed_recipe.lua" mixed.lua
"$RILLE" mixed.lua --threads 1 --out one >said 2>&1 || fail "rille run failed" said
mv weights.safetensors program.safetensors
"$LUA" -e 'os.exit(dofile(arg[0]):run(arg))' mixed.lua --threads 1 --out other >said 2>&1 ||
  fail "the stock run failed" said
cmp weights.safetensors program.safetensors || fail "other weights than those of rille run"

# It saves when it is told to stop, goes on from there, and gives the signal back.
cp "$SOURCE/tests/support/tiny_recipe.lua" tiny.lua
cat >run.lua <<'END'
local rille = require "rille"
local status = dofile "tiny.lua":run(arg)
print("status " .. status)
os.exit(status)
END
"$LUA" run.lua --steps 100000 --out run >out 2>said &
pid=$!
wait_for run/metrics.jsonl
kill -TERM $pid
status=0
wait $pid || status=$?
[ $status = 143 ] || fail "status $status, not 143, of a recipe after SIGTERM" said
test -f run/checkpoints/last.safetensors
says 0 'resumed at step' "$LUA" run.lua --resume run --steps 5 --out again
says 0 'usage' "$LUA" run.lua --help
says 1 'stepz' "$LUA" run.lua --stepz 3

# mnist.lua as it stands in the tree, on images made here.
cat >digits.lua <<'END'
local function write(path, ...)
  local file <close> = assert(io.open(path, "wb"))
  file:write(...)
end
local images, labels = {}, {}
for i = 1, 400 do
  local label = i % 10
  labels[i] = string.char(label)
  local rows = {}
  for r = 0, 27 do
    rows[r + 1] = string.char(r // 3 == label and 255 or (i * r) % 40):rep(28)
  end
  images[i] = table.concat(rows)
end
write("images", string.pack(">I4I4I4I4", 0x803, 400, 28, 28), table.concat(images))
write("labels", string.pack(">I4I4", 0x801, 400), table.concat(labels))
END
"$LUA" digits.lua
small="--images images --labels labels --epochs 3 --batch 16"
# shellcheck disable=SC2086  # several words
"$LUA" "$SOURCE/scripts/mnist.lua" $small >said 2>&1 || fail "mnist.lua failed" said
grep -qE 'epoch 3 +accuracy (9[0-9]|100)' said || fail "mnist.lua learnt nothing" said
test -f mnist.safetensors
