-- What the sweeps of the failing Lua allocator run: the door's every kind of call once, in little
-- time. Any step may run out of memory.
local rille = require "rille"

local w = rille.ones(2, 2, { requires_grad = true })
local rows = (w:matmul(w) * 2):split(1, 1)
rows:register_hook(function(g) return g * 2 end)
rows:sum():backward()

local wrapped = coroutine.wrap(function()
  return rille.no_grad(function() return (w + 1):tolist() end)
end)
assert(#wrapped() == 2)

local double = rille.Function {
  forward = function(ctx, x)
    ctx:save(x)
    return x * 2
  end,
  backward = function(_, g) return g * 2 end,
}
double(w):sum():backward()

local layer = rille.nn.Linear(2, 2)
local optimizer = rille.optim.AdamW(layer:parameters(), { lr = 0.1 })
layer(w):sum():backward()
optimizer:step()

rille.scope(function() return w + 1 end)
pcall(rille.relu, "x")
setmetatable({}, { __gc = function() rille.ones(4):split(2, 1) end })
collectgarbage()
for batch in rille.data.Loader({ { x = w }, { x = w } }, { batch = 2, workers = 1 }) do
  assert(batch.x)
end
print(tostring(w.grad))
