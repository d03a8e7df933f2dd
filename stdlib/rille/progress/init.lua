-- rille.progress(iterable, label): the same iteration with a line on stderr. The iterable is a
-- loader, a list, a number of steps or an iterator; progress.note { loss = x } adds to the
-- innermost line.
local native = require "rille.native"
local check = require "rille.check"
local fail = require "rille.fail"
local read_only = require "rille.read_only"
local step = require "rille.step"
local read_options = require "rille.options"
local Bar = require "rille.progress.bar"

local progress = {}
local bars = require "rille.run_state" {}

local function numbers(n)
  local i = 0
  return function()
    if i < n then
      i = i + 1
      return i
    end
  end
end

local function items(list)
  local i = 0
  return function()
    i = i + 1
    return list[i], i
  end
end

-- An iterator function and the number of rounds, where it is known.
local function iteration(iterable)
  local kind = type(iterable)
  if kind == "number" then
    check("progress", "iterable", iterable, { min = 0 })
    return numbers(iterable), iterable
  end
  if kind == "function" then return iterable end
  if kind ~= "table" and not native.is_tensor(iterable) then
    fail.type("progress", "iterable", "a loader, a list, a number or an iterator", iterable)
  end
  local metatable = getmetatable(iterable)
  if type(metatable) == "table" and metatable.__call then
    local ok, total = pcall(function() return #iterable end)
    return iterable, ok and total or nil
  end
  return items(iterable), #iterable
end

local function forget(bar)
  for i = #bars, 1, -1 do
    if bars[i] == bar then table.remove(bars, i) end
  end
end

-- A loop with a line that tells how far it is; the second argument is its label, or options.
--: iterable: any, label?: string -> fun(): any
local function run(_, iterable, label)
  if type(label) ~= "table" then label = { label = label } end
  local o = read_options("progress", label, {
    { "label", type = "string|number" }, { "desc", type = "string|number", doc = "the same" },
    { "total", type = "number", min = 0, doc = "how many there will be" },
  })
  local f, total = iteration(iterable)
  local bar = Bar.new(o.label or o.desc, o.total or total)
  bars[#bars + 1] = bar
  local function finish()
    forget(bar)
    bar:close()
  end
  local started, control = false, nil
  local function advance()
    if started then
      bar:advance()
      step()
    end
    started = true
    local results = table.pack(f(nil, control))
    control = results[1]
    if control == nil then
      finish()
      return nil
    end
    return table.unpack(results, 1, results.n)
  end
  return advance, nil, nil, setmetatable({}, { __close = finish })
end

-- Adds values to the innermost line that is drawn.
--: values: table<string, any>
function progress.note(values)
  check("progress.note", "values", values, { type = "table" })
  for name in pairs(values) do
    check("progress.note", "a name in 'values'", name, { type = "string" })
  end
  local bar = bars[#bars]
  if bar then bar:note(values) end
end

-- The innermost bar, or nil.
function progress.current()
  return bars[#bars]
end

return read_only("rille.progress", setmetatable(progress, { __call = run }))
