# rille run --sandbox, and limits from the command line.
. "$SOURCE/tests/support/shell.sh"

mkdir folder
cat >folder/guest.lua <<'END'
local rille = require "rille"
print(rille.ones(3):sum():item(), io, ...)
END
says 0 '^3.0	nil	a	b$' "$RILLE" run --sandbox folder/guest.lua a b
says 0 '' "$RILLE" run --sandbox --max-seconds 60 --max-memory 1GiB --max-instructions 1e9 \
  --max-lua-memory 512MiB --max-tensor-memory 512MiB folder/guest.lua

echo 'error "x"' >folder/bad.lua
says 1 '^bad.lua:1: x$' "$RILLE" run --sandbox folder/bad.lua
says 1 'E_SANDBOX\|save: the sandbox does not grant this' "$RILLE" run --sandbox -e \
  'require "rille".save("here", {})'
[ ! -e here ] || fail 'the sandbox wrote a file'
says 1 '1: require: the sandbox does not grant' "$RILLE" run --sandbox -e 'require "io"'

cp "$SOURCE/tests/support/tiny_recipe.lua" recipe.lua
says 1 "^recipe.lua: recipe: the sandbox does not grant a recipe's run, which writes a folder" \
  "$RILLE" run --sandbox recipe.lua
says 2 "unknown flag '--sandbox'; as an option of rille run it goes before the file" \
  "$RILLE" run recipe.lua --sandbox
says 0 '^2$' "$RILLE" run --sandbox -e 'x = 1' -e 'print(x + 1)'

says 3 'the run has used up its 1000 instructions' "$RILLE" run --max-instructions 1000 -e \
  'while true do end'
says 3 'the run has used up its 0.1 seconds' "$RILLE" run --max-seconds 0.1 -e \
  'while true do pcall(function() while true do end end) end'
says 3 'the script has used up its 16.00 MiB of Lua memory' "$RILLE" run --max-lua-memory 16MiB -e \
  'local t = {} while true do t[#t + 1] = {} end'
says 3 'limit 8.00 MiB' "$RILLE" run --max-tensor-memory 8MiB -e \
  'local t, r = {}, require "rille" while true do t[#t + 1] = r.zeros(100000) end'
says 3 'limit 32.00 MiB\|its 32.00 MiB of memory' "$RILLE" run --max-memory 32MiB -e \
  'local t, r = {}, require "rille" while true do t[#t + 1] = r.zeros(100000) end'

# Workers share the limits of the run, and a limit that one of them meets is the run's.
cat >workers.lua <<'END'
local rille = require "rille"
local function hold(i)
  local t = {}
  for k = 1, 20 do t[k] = rille.ones(1000000) end
  return i
end
local loader = rille.data.Loader({ 1, 2, 3, 4 }, { batch = 1, workers = 2, transform = hold })
for _ in loader do end
END
says 3 'met a limit, item [1-4]$' "$RILLE" run --max-memory 64MiB workers.lua
cat >endless.lua <<'END'
local rille = require "rille"
local function endless() while true do end end
for _ in rille.data.Loader({ 1 }, { batch = 1, workers = 1, transform = endless }) do end
END
says 3 'the run has used up its\|met a limit' "$RILLE" run --max-seconds 0.5 endless.lua
says 0 '^6.0$' env OMP_NUM_THREADS=100000 "$RILLE" run -e \
  'local r = require "rille" r.rand(2000, 2000):sum() print(r.full({ 3 }, 2):sum():item())'

says 2 "no option '--sandbx' (did you mean '--sandbox'?)" "$RILLE" run --sandbx x.lua
says 2 '--max-memory needs a size such as 64MiB' "$RILLE" run --max-memory lots x.lua
says 2 '--max-seconds needs a number of seconds' "$RILLE" run --max-seconds
says 2 'usage: rille run' "$RILLE" run --sandbox
says 0 'max-instructions N' "$RILLE" help run
