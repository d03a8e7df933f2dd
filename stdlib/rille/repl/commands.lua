-- The dot-commands of the interactive shell: name, what follows it, what it does. Each gets the
-- session and the text behind its name.
local rille = require "rille"
local native = require "rille.native"
local show = require "rille.repl.show"
local source = require "rille.repl.source"
local values = require "rille.repl.values"

local commands = {}
local list = {}

local function command(name, arguments, does, run)
  list[#list + 1] = { name = name, arguments = arguments, does = does }
  commands[name] = run
end

-- Evaluates an expression of the session, handing what it gives to `use`.
local function with_value(session, text, use)
  if text == "" then return show.complain "an expression is missing" end
  local chunk, problem = session:compile(text)
  if not chunk then return show.complain(problem) end
  return session:call(use, chunk)
end

-- What a name of the library does and takes: the library's name, or one of the session's for it.
local function explain(session, name)
  local text, problem = require "rille.annotations.help"(name, values.of(session, name))
  if not text then return show.complain(problem) end
  print(text)
  return true
end

local function print_line(c)
  print(("  .%-16s %s"):format(c.name .. " " .. c.arguments, c.does))
end

local function no_such(name)
  local names = {}
  for _, c in ipairs(list) do names[#names + 1] = c.name end
  local near = require "rille.nearest"(name, names)
  return show.complain(("there is no command .%s%s"):format(show.text(name),
    near and (" (did you mean .%s?)"):format(near) or ""))
end

local function explain_command(name)
  for _, c in ipairs(list) do
    if c.name == name then
      print_line(c)
      return true
    end
  end
  return no_such(name)
end

local function help(session, name)
  local command_name = name:match "^%.(%a+)$"
  if command_name then return explain_command(command_name) end
  if name ~= "" then return explain(session, name) end
  for _, c in ipairs(list) do print_line(c) end
  print [[
  An expression's value is shown; a ; at the end of the input silences it. _1 _2 _3 are the last
  three values. Locals stay. Tab completes names, fields, options and, in a string, choices or
  files. Ctrl-C stops what runs, Ctrl-D leaves. $ CMD runs a program of the system.]]
  return true
end

command("help", "[NAME]", "this list, or what NAME does and takes; also ?NAME", help)

local function duration(seconds)
  local units = { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "us" }, { 0, "ns" } }
  for _, unit in ipairs(units) do
    local size = unit[1] > 0 and unit[1] or 1e-9
    if seconds >= unit[1] then return ("%.3g %s"):format(seconds / size, unit[2]) end
  end
end

-- Short ones are run again for a tenth of a second; the shortest run counts least noise.
command("time", "EXPR", "how long it takes: once, or the best of many short runs",
  function(session, text)
    return with_value(session, text, function(chunk)
      local began = native.clock()
      chunk()
      local first = native.clock() - began
      local best, runs, total = first, 1, first
      while total < 0.1 do
        local start = native.clock()
        chunk()
        local took = native.clock() - start
        best, runs, total = math.min(best, took), runs + 1, total + took
      end
      if runs == 1 then return print(duration(first)) end
      print(("%s, the best of %d (the first: %s)"):format(duration(best), runs, duration(first)))
    end)
  end)

local function bytes_text(n)
  if n < 1024 then return ("%d bytes"):format(n) end
  local units = { "KiB", "MiB", "GiB", "TiB" }
  local k = 0
  repeat n, k = n / 1024, k + 1 until n < 1024 or k == #units
  return ("%.1f %s"):format(n, units[k])
end

command("memory", "", "what tensors and Lua hold", function()
  print(("tensors  %s, at most %s so far"):format(bytes_text(rille.memory.allocated()),
    bytes_text(rille.memory.peak())))
  print(("kept     %s in all, for tensors to come"):format(bytes_text(rille.memory.reserved())))
  print(("Lua      %s"):format(bytes_text(collectgarbage "count" * 1024)))
  return true
end)

-- As errors name a tensor: "f32[2, 3]".
local function type_text(dtype, shape)
  return ("%s[%s]"):format(dtype, table.concat(shape, ", "))
end

command("tensors", "", "what is alive, the largest first", function()
  local most = 20
  for k, held in ipairs(rille.memory.snapshot()) do
    if k > most then return print "  ..." end
    local what = held.tape and "block of the tape" or type_text(held.dtype, held.shape)
    print(("  %10s  %5d x %s%s%s"):format(bytes_text(held.bytes), held.count, what,
      held.gradient and "  gradients" or "", held.line and "  " .. held.line or ""))
  end
  return true
end)

command("who", "", "the session's locals", function(session)
  local names = {}
  for name in pairs(session.declared) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local value = session.env[name]
    local shown = native.is_tensor(value) and type_text(value.dtype, value:shape())
      or type(value) == "table" and "table" or show.value(value)
    print(("  %-16s %s"):format(name, (shown:gsub("\n.*", " ..."))))
  end
  return true
end)

command("graph", "EXPR", "the ops that a tensor's gradient goes back through",
  function(session, text)
    return with_value(session, text, function(chunk)
      local t = chunk()
      if native.is_tensor(t) then return print(native.graph(t)) end
      show.complain(("that is no tensor but a %s"):format(type(t)))
    end)
  end)

local function run_file(session, path)
  local file, problem = io.open(path, "r")
  if not file then return show.complain(problem) end
  local text = file:read "a"
  file:close()
  session.loaded = path
  return session:take(text, path)
end

command("load", "FILE", "run a file; its locals are the session's", function(session, path)
  return run_file(session, path)
end)

command("reload", "", "run the file again that was loaded last", function(session)
  if session.loaded then return run_file(session, session.loaded) end
  return show.complain ".load FILE comes first"
end)

command("source", "EXPR", "the lines of a function", function(session, text)
  return with_value(session, text, function(chunk)
    local lines, problem = source(session, (chunk()))
    if lines then print(lines) else show.complain(problem) end
  end)
end)

-- Files are not written over: what was in there might be wanted.
command("save", "FILE", "write the inputs that went well to a new file", function(session, path)
  if path == "" then return show.complain "a name for the file is missing" end
  local there = io.open(path, "r")
  if there then
    there:close()
    return show.complain(("%s is there already"):format(path))
  end
  local file, problem = io.open(path, "w")
  if not file then return show.complain(problem) end
  file:write(session.record:script())
  file:close()
  return true
end)

command("quit", "", "leave; also Ctrl-D", function(session)
  session.over = true
  return true
end)

-- `$ CMD`: a program of the system, with the session's terminal.
commands["$"] = function(_, text)
  io.stdout:flush()
  local good, how, status = os.execute(text)
  if good then return true end
  return show.complain(("%s %d"):format(how == "signal" and "ended by signal" or "status", status))
end

-- Whether a line is for these: `.5 + x` is not.
local function parse(line)
  local name, rest = line:match "^%s*%.(%a+)%s*(.-)%s*$"
  if name then return name, rest end
  rest = line:match "^%s*%?%s*([%w_.:]*)%s*$"
  if rest then return "help", rest end
  rest = line:match "^%s*%$%s*(%S.-)%s*$"
  if rest then return "$", rest end
end

local function run(session, name, rest)
  local found = commands[name]
  if found then return found(session, rest) end
  return no_such(name)
end

return { parse = parse, run = run, list = list }
