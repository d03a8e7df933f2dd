-- The misuse sweep: every public function, method and class of the library is called with right,
-- half right and wrong arguments. A call must return, or raise an error object with a code, within
-- two seconds of the processor's time. Each call depends on the seed and its number only.
--   rille run misuse.lua FOLDER [--seed N] [--calls N | --seconds S] [--first N] [--name PATTERN]
-- FOLDER holds what `rille help --luacats FOLDER` wrote, and gets calls.log: the line of the call
-- under way is its last, so that a crash names it.
local rille = require "rille"
local catalogue = require "misuse.catalogue"
local dice = require "misuse.dice"
local values = require "misuse.values"

local options = { seed = 1, first = 1, calls = math.huge, seconds = math.huge }
local folder = arg[1]
for i = 2, #arg, 2 do
  local key = arg[i]:match "^%-%-(%a+)$"
  options[key] = tonumber(arg[i + 1]) or arg[i + 1]
end

-- Names that are left out, and why.
local skipped = {
  ["rille.prelude"] = "sets up another state of Lua",
  ["rille.threads"] = "starts as many threads as it is told",
}

local files = {}
for name in io.lines(folder .. "/names") do files[#files + 1] = name end
local entries, classes = catalogue.read(folder, files)
local targets = {}
for _, e in ipairs(entries) do
  if not skipped[e.path] and (not options.name or e.path:find(options.name)) then
    targets[#targets + 1] = e
  end
end

local log = assert(io.open(folder .. "/calls.log", "w"))
log:setvbuf "no"

-- An argument as the log shows it, without asking it anything.
local function shown(v, depth)
  if rille.is_tensor(v) then
    local ok, text = pcall(function()
      return ("%s[%s]%s"):format(v.dtype, table.concat(v:shape(), ","), v.device)
    end)
    return ok and text or "closed tensor"
  end
  local kind = type(v)
  if kind == "string" then return ("%q"):format(v:sub(1, 24)) end
  if kind == "number" or kind == "nil" or kind == "boolean" then return tostring(v) end
  if kind ~= "table" or depth > 2 then return kind end
  local parts = {}
  for k, item in next, v do
    if #parts == 5 then break end
    local key = math.type(k) and "" or tostring(k) .. "="
    parts[#parts + 1] = key .. shown(item, depth + 1)
  end
  return (getmetatable(v) and "object" or "") .. "{" .. table.concat(parts, ", ") .. "}"
end

local function said(list, n)
  local parts = {}
  for i = 1, n do parts[i] = shown(list[i], 1) end
  return table.concat(parts, ", ")
end

local counts = { calls = 0, returned = 0, refused = 0, failed = 0 }
local seen = {}

local function report(number, path, what)
  counts.failed = counts.failed + 1
  local key = path .. what:sub(1, 60):gsub("%d+", "N")
  if seen[key] then return end
  seen[key] = true
  local line = ("FAILED call %d: %s: %s"):format(number, path, what)
  print(line)
  log:write(line, "\n")
end

-- Whether an error is an object with a code of ours; one of the sweep's own callbacks is fine, too.
local function judge(number, path, err)
  local told = tostring(err)
  local own = told:find(values.boom, 1, true) or told:find "misuse[^\n]*: attempt to"
    or told:find "misuse/values" or told == "error in error handling" -- after a stack overflow
  if own and type(err) == "string" then return end
  local ok, code = pcall(function() return err.code end)
  if not ok or type(code) ~= "string" then
    report(number, path, "an error without a code: " .. told:gsub("\n.*", ""))
  elseif code == "E_INTERNAL" and not told:find(values.boom, 1, true) then
    report(number, path, "an internal error: " .. told:gsub("\n.*", ""))
  end
end

local function value_of(e)
  local at = rille
  for part in e.path:gsub("^rille%.", ""):gmatch "[^%.]+" do at = at[part] end
  return at
end

-- The arguments of a call. What they have in common: a shape and a dtype, most of the time.
local function arguments(d, e)
  local c = {
    classes = classes, shape = d:chance(0.8) and values.shape(d) or nil,
    dtype = d:chance(0.7) and "f32" or d:pick(values.dtypes),
  }
  local args, n = {}, 0
  local wild = d:chance(0.3)
  for _, name in ipairs(e.params) do
    if n > 0 and d:chance(0.25) then break end
    n = n + 1
    if wild then args[n] = values.any(d) else args[n] = values.of(d, e.kinds[name], c) end
  end
  if #e.params == 0 and d:chance(0.4) then n = 1 args[1] = values.any(d) end
  local own = classes[e.path .. ".options"]
  if own and d:chance(0.3) then
    n = n + 1
    args[n] = values.of(d, e.path .. ".options", c)
  end
  return args, n
end

-- One call in a coroutine of its own, so that modes which it leaves open end with it.
local function call(number, path, f, args, n)
  log:write(("%d %s(%s)\n"):format(number, path, said(args, n)))
  counts.calls = counts.calls + 1
  local began = os.clock()
  local co = coroutine.create(function() return f(table.unpack(args, 1, n)) end)
  local ok, result = coroutine.resume(co)
  if coroutine.status(co) == "suspended" then coroutine.close(co) end
  local took = os.clock() - began
  if took > 2 then report(number, path, ("took %.1f s"):format(took)) end
  if ok then
    counts.returned = counts.returned + 1
    return result
  end
  counts.refused = counts.refused + 1
  judge(number, path, result)
end

local module_methods = {}
for _, e in ipairs(targets) do
  if e.owner == "Module" then module_methods[#module_methods + 1] = e end
end

-- What a call gave is used in turn: its methods, itself as a function, its parts.
local function use(number, d, path, made)
  local function anything()
    local args, n = {}, d:int(3) - 1
    for i = 1, n do args[i] = d:chance(0.6) and values.tensor(d) or values.any(d) end
    return args, n
  end
  if rille.is_tensor(made) then
    if d:chance(0.5) then
      call(number, path .. " :backward", function()
        -- A view may have 2^35 elements, which are honest work for many seconds.
        if made:numel() <= 1 << 26 then made:sum():backward() end
      end, {}, 0)
    end
    return
  end
  if type(made) ~= "table" and type(made) ~= "function" then return end
  for _ = 1, 2 do
    local args, n = anything()
    if type(made) == "function" or d:chance(0.4) then
      call(number, path .. " ()", made, args, n)
    elseif #module_methods > 0 and d:chance(0.3) then
      local e = d:pick(module_methods)
      local function method(...) return made[e.name](made, ...) end
      call(number, path .. " :" .. e.name, method, args, n)
    else
      local keys = {}
      pcall(function() for k in pairs(made) do keys[#keys + 1] = k end end)
      local ok, f = pcall(function() return made[d:pick(keys)] end)
      if ok and type(f) == "function" then call(number, path .. " part", f, args, n) end
    end
  end
end

local function receiver(d, e)
  if d:chance(0.1) then return values.any(d) end
  local class = e.owner:match "[%w_]+$"
  local make = values.objects[class] or values.objects.Module
  return make(d)
end

-- Settings that a call may have changed.
local function restore()
  rille.set_default_dtype "f32"
  rille.default_device "cpu"
  rille.strict(false)
  rille.use_deterministic(false)
  rille.memory.limit(64 << 20)
end

local function one(number)
  local d = dice(options.seed, number)
  local e = d:pick(targets)
  local fine, args, n = pcall(arguments, d, e)
  if not fine then return end            -- a value of that kind can't be made from those dice
  local f
  if e.method then
    local ok, self = pcall(receiver, d, e)
    if ok then ok, f = pcall(function() return self[e.name] end) end
    if not ok or f == nil or type(self) == "string" then return end   -- strings have a `sub`, too
    args, n = { self, table.unpack(args, 1, n) }, n + 1
  else
    f = value_of(e)
  end
  local made = call(number, e.path, f, args, n)
  if made ~= nil and d:chance(0.5) then pcall(use, number, d, e.path, made) end
  restore()
end

restore()
local began = os.time()
local number = options.first
local last = options.first + options.calls - 1
while number <= last and os.time() - began < options.seconds do
  one(number)
  number = number + 1
end
print(("misuse: seed %d, %d names, %d calls: %d returned, %d refused, %d failed"):format(
  options.seed, #targets, counts.calls, counts.returned, counts.refused, counts.failed))
os.exit(counts.failed == 0 and 0 or 1)
