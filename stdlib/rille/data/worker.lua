-- What runs in a loader's worker, in a Lua state of its own: native.worker_pool calls this with
-- the plan and the worker's number (from 1), and what it returns with every job.
local fetch = require "rille.data.fetch".fetch

local limits = { E_BUDGET = true, E_OOM_BUDGET = true }

return function(plan, number)
  if plan.worker_init then plan.worker_init(number) end
  return function(job)
    local progress = {}
    local limit
    local function traced(err)
      local code = type(err) == "table" and rawget(err, "code")
      if limits[code] then limit = code end
      return limit and tostring(err) or debug.traceback(tostring(err), 2)
    end
    local ok, batch = xpcall(fetch, traced, plan, job.positions, job.epoch, progress)
    if ok then return { batch = batch } end
    return { error = batch, worker = number, position = progress.position, limit = limit }
  end
end
