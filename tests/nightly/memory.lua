-- How much memory careless scripts take: no scope, no <close>, no call of the collector.
--   rille run memory.lua CASE
local rille = require "rille"
package.path = arg[0]:gsub("tests/nightly/memory.lua$", "benchmarks/?.lua") .. ";" .. package.path

local MiB = 2 ^ 20

local function resident_peak()
  local file <close> = assert(io.open "/proc/self/status")
  return tonumber(file:read("a"):match "VmHWM:%s*(%d+)") * 1024
end

-- Tables as a script with its data in Lua has them, 30 MB.
local function heap()
  local list = {}
  for i = 1, 350000 do list[i] = { i } end
  return list
end

local function tensors(n, elements)
  local list = {}
  for i = 1, n do list[i] = rille.zeros(elements) end
  return list
end

local function drop(n, elements)
  for _ = 1, n do rille.zeros(elements) end
end

local function bounded(what, bytes, bound)
  print(("%-40s %7.0f MiB, at most %7.0f"):format(what, bytes / MiB, bound / MiB))
  assert(bytes <= bound, what)
end

local cases = {}

-- 100,000 dropped tensors of 4 MB beside 1.6 GB that live.
function cases.dropped()
  local held, tables = tensors(400, MiB), heap()
  drop(100000, MiB)
  bounded("tensors", rille.memory.peak(), 1.25 * 1600 * MiB)
  bounded("the process", resident_peak(), 1.25 * 1600 * MiB)
  assert(#held == 400 and #tables > 0)
end

-- The same beside nothing.
function cases.dropped_alone()
  drop(100000, MiB)
  bounded("tensors", rille.memory.peak(), 64 * MiB)
end

-- A model of 1 GB is replaced 40 times, with temporaries in between.
function cases.replaced()
  local model = {}
  for _ = 1, 40 do
    for i = 1, 20 do model[i] = rille.zeros(50 * MiB // 4) end
    drop(50, MiB // 4)
  end
  bounded("tensors", rille.memory.peak(), 1.4 * 1000 * MiB)
  assert(#model == 20)
end

-- The training loop of the big GPT of the benchmarks against the same with what the script has
-- dropped freed at once, as counted references would: the peak is one step's.
function cases.training()
  local models = require "models"
  local o = { vocab = 65, layers = 6, heads = 6, width = 384, context = 256, batch = 8 }
  local model = models.GPT(o)
  local parameters, optimizer = model:parameters(), models.adamw(model)
  local x = rille.randint(0, 64, o.batch, o.context)
  for _ = 1, 6 do models.train_step(model, parameters, optimizer, x, x) end
  local careless = rille.memory.peak()
  rille.memory.reset_peak()
  for _ = 1, 2 do
    collectgarbage()
    optimizer:zero_grad()
    local loss = model(x, x)
    collectgarbage()
    loss:backward()
    collectgarbage()
    optimizer:step()
  end
  bounded("tensors", careless, 1.1 * rille.memory.peak())
  bounded("the process", resident_peak(), 640 * MiB)
end

cases[arg[1]]()
