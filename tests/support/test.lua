-- The test harness of tests/lua: named tests, checks that say what they saw, a count at the end.
--   local t = require "support.test"
--   t.test("an empty sum is 0", function() t.eq(rille.zeros(0):sum():item(), 0) end)
-- run_lua.lua runs a file of these and turns the count into an exit status.
local t = { passed = 0, failed = 0, skipped = 0 }

local SKIP = {}

local function show(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" or getmetatable(value) then return tostring(value) end
  local parts, listed = {}, #value
  for i = 1, listed do parts[i] = show(value[i]) end
  local keys = {}
  for k in pairs(value) do
    if not (math.type(k) == "integer" and k >= 1 and k <= listed) then keys[#keys + 1] = k end
  end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for _, k in ipairs(keys) do parts[#parts + 1] = tostring(k) .. " = " .. show(value[k]) end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

-- A tensor (or anything with :tolist) is compared by its values.
local function plain(value)
  if type(value) == "userdata" and value.tolist then return value:tolist() end
  return value
end

-- The first place where two values differ, as "[2].x: got 1, want 2"; nil where they agree.
local function difference(got, want, same, path)
  if type(got) == "table" and type(want) == "table" and not rawequal(got, want) then
    for k, v in pairs(want) do
      local found = difference(got[k], v, same, path .. "[" .. show(k) .. "]")
      if found then return found end
    end
    for k in pairs(got) do
      if want[k] == nil then
        return ("%s[%s]: unexpected %s"):format(path, show(k), show(got[k]))
      end
    end
  elseif not same(got, want) then
    return ("%s: got %s, want %s"):format(path, show(got), show(want))
  end
end

local function equal(a, b)
  return a == b or (a ~= a and b ~= b) -- nan is itself here
end

local function compare(got, want, same, what)
  local found = difference(plain(got), plain(want), same, what or "value")
  if found then error(found, 3) end
end

--- Values, tables (deeply) or tensors are the same; nan equals nan.
function t.eq(got, want, what) compare(got, want, equal, what) end

--- Numbers, tables of them or tensors agree to within `tolerance * (1 + |want|)`.
function t.near(got, want, tolerance, what)
  tolerance = tolerance or 1e-5
  compare(got, want, function(a, b)
    if type(a) ~= "number" or type(b) ~= "number" then return a == b end
    return equal(a, b) or math.abs(a - b) <= tolerance * (1 + math.abs(b))
  end, what)
end

function t.ok(value, what)
  if not value then error((what or "value") .. ": got " .. show(value), 2) end
  return value
end

--- fn() fails. `wanted` is a part of the message (no pattern), or a table of parts by field of the
--- error: t.error_like(function() ... end, { code = "E_SHAPE", message = "inner sizes" })
function t.error_like(fn, wanted)
  local fine, err = pcall(fn)
  if fine then error("no error; want " .. show(wanted), 2) end
  local parts = type(wanted) == "table" and wanted or { text = wanted }
  for field, part in pairs(parts) do
    local has = tostring(err)
    if field ~= "text" then has = type(err) ~= "string" and tostring(err[field]) or "nothing" end
    if not has:find(part, 1, true) then
      error(("error's %s is %q, want %q; it says %q"):format(field, has, part, tostring(err)), 2)
    end
  end
  return err
end

--- Ends the running test without a verdict, for what this machine cannot do.
function t.skip(reason) error(setmetatable({ reason = reason }, SKIP), 0) end

--- A message handler: the error's text and where it came from, without the harness's own frames.
function t.traceback(err)
  if getmetatable(err) == SKIP then return err end
  local text = debug.traceback(tostring(err), 2)
  return text:match("^(.-)\n[^\n]*in function 'xpcall'") or text
end

function t.test(name, fn)
  local fine, err = xpcall(fn, t.traceback)
  if fine then
    t.passed = t.passed + 1
    print("ok      " .. name)
  elseif getmetatable(err) == SKIP then
    t.skipped = t.skipped + 1
    print(("skip    %s (%s)"):format(name, err.reason))
  else
    t.failed = t.failed + 1
    print("not ok  " .. name .. "\n        " .. tostring(err):gsub("\n", "\n        "))
  end
end

--- Prints the count; gives the status to exit with: 0, 1, or 77 when every test was skipped.
function t.finish()
  print(("%d ok, %d not ok, %d skipped"):format(t.passed, t.failed, t.skipped))
  if t.failed > 0 or t.passed + t.skipped == 0 then return 1 end
  return t.passed == 0 and 77 or 0
end

return t
