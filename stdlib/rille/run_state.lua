-- What the library keeps for the time of a run: run_state(t) gives back t, whose fields are put
-- back to what they are now when the sandbox begins the next run, those of the tables in it, too.
local kept = {}

local function seen_now(t)
  local now = { fields = {}, inner = {} }
  for key, value in next, t do
    now.fields[key] = value
    if type(value) == "table" then now.inner[value] = seen_now(value) end
  end
  return now
end

local function put_back(t, now)
  for key in next, t do
    if now.fields[key] == nil then t[key] = nil end
  end
  for key, value in next, now.fields do t[key] = value end
  for inner, its in next, now.inner do put_back(inner, its) end
end

local run_state = {}

function run_state.renew()
  for t, now in next, kept do put_back(t, now) end
end

return setmetatable(run_state, {
  __call = function(_, t)
    kept[t] = seen_now(t)
    return t
  end,
})
