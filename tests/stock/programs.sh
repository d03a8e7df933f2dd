# Programs of the stock interpreter: flags, errors, exit statuses, ends with threads at work.
. "$SOURCE/tests/support/shell.sh"

cat >flags.lua <<'END'
local rille = require "rille"
local args = rille.args { size = { type = "integer", required = true, help = "how many" } }
print("sum " .. rille.ones(args.size):sum():item())
END
says 0 '^sum 3.0$' "$LUA" flags.lua --size 3
says 0 '--size' "$LUA" flags.lua --help
says 1 "size" "$LUA" flags.lua
says 1 "zise" "$LUA" flags.lua --zise 3

# An error object tells all it knows, and is one that scripts can look at.
says 1 'matmul: inner sizes differ: 3 and 2' "$LUA" -e 'local rille = require "rille"
  rille.ones(2, 3):matmul(rille.ones(2, 3))'
says 0 'E_SHAPE shape' "$LUA" -e 'local rille = require "rille"
  local fine, err = pcall(rille.matmul, rille.ones(2, 3), rille.ones(2, 3))
  print(err.code .. " " .. err.kind)'

# Modules of the standard library come from the module, not from a folder that has their names.
mkdir rille
echo 'error "not this one"' >rille/nn.lua
says 0 '^true' "$LUA" -e 'local rille = require "rille"
  print(require "rille.nn" == rille.nn, rille.nn.Linear(2, 2))'
rm -r rille

# The process may end with everything open.
cat >open.lua <<'END'
local rille = require "rille"
local set = {}
for i = 1, 2000 do set[i] = { x = rille.ones(64) * i } end
local function slow(item)
  for _ = 1, 50 do item.x = item.x + 1 end
  return item
end
for batch in rille.data.Loader(set, { batch = 2, workers = 2, transform = slow }) do
  assert(batch.x:shape()[1] == 2)
  if arg[1] == "exit" then os.exit(7) end
  if arg[1] == "close" then os.exit(8, true) end
  if arg[1] == "error" then error "in the loop" end
  if arg[1] == "hook" then
    local x = rille.ones(2, { requires_grad = true })
    local y = x * 2
    y:register_hook(function() os.exit(9, true) end)
    y:sum():backward()
  end
end
END
for round in 1 2 3 4 5; do
  says 7 '' "$LUA" open.lua exit
  says 8 '' "$LUA" open.lua close
  says 9 '' "$LUA" open.lua hook
  says 1 'in the loop' "$LUA" open.lua error
done
