-- One line of progress on stderr: redrawn where that is a terminal, else a plain line now and then.
local native = require "rille.native"
local class = require "rille.class"

local Bar = class "Bar"

local redraw, report = 0.1, 10.0      -- seconds between lines: on a terminal, elsewhere

-- `total` may be nil. `unit` names what `rate` counts, such as "tok"; without one, steps are
-- counted.
function Bar.new(label, total, options)
  local now = native.clock()
  options = options or {}
  local self = setmetatable({
    label = label or "", total = total, done = options.done or 0, unit = options.unit, units = 0,
    terminal = native.isatty(2), began = now, drawn = now, notes = {}, order = {},
    quiet = options.quiet,
  }, Bar)
  self.first = self.done
  return self
end

-- Adds values to the line; a name keeps its place. A function is asked when the line is drawn.
function Bar:note(values)
  local names = {}
  for name in pairs(values) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    if self.notes[name] == nil then self.order[#self.order + 1] = name end
    self.notes[name] = values[name]
  end
end

local function duration(seconds)
  if seconds ~= seconds or seconds == math.huge then return "?" end
  local whole = math.floor(seconds + 0.5)
  if whole >= 3600 then
    return ("%d:%02d:%02d"):format(whole // 3600, whole // 60 % 60, whole % 60)
  end
  return ("%d:%02d"):format(whole // 60, whole % 60)
end

local function amount(rate)
  if rate >= 1e6 then return ("%.1fM"):format(rate / 1e6) end
  if rate >= 1e4 then return ("%.0fk"):format(rate / 1e3) end
  return rate >= 100 and ("%.0f"):format(rate) or ("%.1f"):format(rate)
end

local function show(value)
  if type(value) == "function" then value = value() end
  if math.type(value) == "integer" or type(value) == "string" then return tostring(value) end
  if type(value) == "number" then return ("%.4g"):format(value) end
  return tostring(value)
end

-- The parts of the line: label, count, rate and times, notes.
function Bar:text(now)
  local spent = math.max(now - self.began, 1e-9)
  local steps = self.done - self.first
  local parts = { self.label }
  local count = self.total and ("%.0f/%.0f"):format(self.done, self.total) or tostring(self.done)
  parts[#parts + 1] = count
  local rate = self.unit and self.units / spent or steps / spent
  parts[#parts + 1] = amount(rate) .. " " .. (self.unit or "it") .. "/s"
  local left = self.total and steps > 0 and (self.total - self.done) * spent / steps
  local time = duration(spent)
  parts[#parts + 1] = left and left > 0 and time .. "<" .. duration(left) or time
  for _, name in ipairs(self.order) do parts[#parts + 1] = name .. " " .. show(self.notes[name]) end
  for i, part in ipairs(parts) do parts[i] = native.shown(tostring(part)) end
  return parts
end

local function blocks(fraction, width)
  local full = math.floor(fraction * width + 0.5)
  return "[" .. ("="):rep(full) .. (" "):rep(width - full) .. "]"
end

function Bar:draw(now)
  self.drawn = now
  local parts = self:text(now)
  if not self.terminal then
    io.stderr:write(table.concat(parts, "  "), "\n")
    return
  end
  if self.total and self.total > 0 then
    table.insert(parts, 2, blocks(math.min(self.done / self.total, 1), 20))
  end
  local line = table.concat(parts, "  "):sub(1, native.terminal_width() - 1)
  io.stderr:write("\r", line, "\27[K")
end

function Bar:advance(units)
  self.done = self.done + 1
  self.units = self.units + (units or 0)
  local now = native.clock()
  if self.quiet or now - self.drawn < (self.terminal and redraw or report) then return end
  self:draw(now)
end

-- Clears the line, so that something else can be printed; the next advance draws it again.
function Bar:hide()
  if self.terminal and not self.quiet then io.stderr:write("\r\27[K") end
end

function Bar:close()
  if self.closed then return end
  self.closed = true
  if self.quiet then return end
  self:draw(native.clock())
  if self.terminal then io.stderr:write("\n") end
end

return Bar
