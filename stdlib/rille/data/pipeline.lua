-- Keeps a loader's workers busy: hands out positions ahead of their use and gives the batches back
-- in order.
local native = require "rille.native"
local fail = require "rille.fail"

local function raise(result)
  local item = result.position and (", item %d"):format(result.position) or ""
  if result.limit then
    fail.raise {
      kind = "memory", code = result.limit, op = "Loader", status = 3,
      message = ("worker %d met a limit%s"):format(result.worker, item),
      facts = { result.error },
    }
  end
  fail.raise {
    kind = "data", code = "E_WORKER", op = "Loader",
    message = ("worker %d failed%s"):format(result.worker, item),
    facts = { result.error },
  }
end

-- Returns a function that gives the next batch, or nil after the last.
local function start(loader, next_positions)
  local o, epoch = loader.options, loader.epoch
  loader.pool = loader.pool or native.worker_pool(o.workers, "rille.data.worker", loader.plan)
  loader.jobs = loader.jobs or 0
  -- Results of a loop that was left early have lower numbers than `first`.
  local pool, first = loader.pool, loader.jobs + 1
  local ready, wanted, ahead = {}, first, o.workers * (o.prefetch or 2)
  local exhausted = false

  local function submit()
    local positions = not exhausted and next_positions()
    if not positions then
      exhausted = true
      return
    end
    loader.jobs = loader.jobs + 1
    pool:submit(loader.jobs, { positions = positions, epoch = epoch })
  end

  local function receive()
    local id, result = pool:next(o.timeout > 0 and o.timeout or nil)
    if id == nil then
      fail.raise {
        kind = "data", code = "E_WORKER", op = "Loader",
        message = ("no batch within %g seconds"):format(o.timeout),
      }
    end
    if id >= first then
      ready[id] = result
      return id
    end
  end

  for _ = 1, ahead do submit() end
  local given = 0
  return function()
    if exhausted and given == loader.jobs - first + 1 then return nil end
    local id = o.in_order and wanted or next(ready)
    while id == nil or not ready[id] do
      local arrived = receive()
      id = o.in_order and wanted or arrived
    end
    local result = ready[id]
    ready[id] = nil
    wanted, given = wanted + 1, given + 1
    submit()
    if result.error then raise(result) end
    return result.batch
  end
end

return { start = start }
