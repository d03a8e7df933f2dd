-- The interactive shell without a terminal: what inputs print, what stays, what a word may become.
local t = require "support.test"
local rille = require "rille"
local native = require "rille.native"
local Session = require "rille.repl.session"
local complete = require "rille.repl.complete"
local lift = require "rille.repl.lift"
local show = require "rille.repl.show"
local runs = require "support.runs"

local function feed(session, line)
  return runs.heard(function() return session:feed(line) end)
end

-- Feeds lines one by one; gives what each of them said.
local function session_of(lines)
  local session, said = Session.new(), {}
  for _, line in ipairs(lines) do said[#said + 1] = (feed(session, line)) end
  return said, session
end

t.test("values are shown, locals stay, ; silences", function()
  local said = session_of {
    "local x = 1", "x + 1", "x, 'a', nil", "x = x + 1;", "x", "local y <const>, z = 2", "y, z",
    "local function double(v) return 2 * v end", "double(21)", "double(y);", "_1, _2, _3",
  }
  t.eq(said, {
    "", "2\n", '1\t"a"\tnil\n', "", "2\n", "", "2\tnil\n", "", "42\n", "", "4\t42\t2\n",
  })
end)

t.test("an input of several lines is asked for to its end", function()
  local said, session = session_of { "for i = 1, 2 do", "print(i)", "end" }
  t.eq(said, { "", "", "1\n2\n" })
  t.eq(select(2, feed(session, "f(")), "more")
  session:abandon()
  t.eq((feed(session, "[[a")), "")
  t.eq((feed(session, "b]]")), '"a\\nb"\n')
end)

t.test("globals are globals, and a local does not become one", function()
  local _, session = session_of { "repl_global = 5", "local repl_local = 6" }
  t.eq(rawget(_G, "repl_global"), 5)
  t.eq(rawget(_G, "repl_local"), nil)
  t.eq((feed(session, "repl_global + repl_local")), "11\n")
  t.eq((feed(session, "local print")), "")
  t.eq((feed(session, "print")), "nil\n")                -- hides the global, which is still there
  t.ok(print ~= nil)
  _G.repl_global = nil
end)

-- Lua's own reading of a text is the truth: fed at once, it prints the same.
local programs = {
  "local a, b = 1 local c = { 'local d = 1', a } print(a, b, c[1], c[2])",
  "local function f(n) local m = n - 1 if n == 0 then local z = 'z' return z end return f(m) end \z
    print(f(3))",
  "local x = 1 do local x = 2 print(x) end print(x)",
  "local s = [==[\nlocal x\n]==] --[[ local y ]] print(s, y)",
  "local i = 0 repeat local j = i i = i + 1 until j >= 2 print(i)",
  "local x\n;(print)(x)",
  "local x <const> = 0x1p4 -- local z = 1\nprint(x, z)",
  "local t = {} for k = 1, 3 do local v = k t[k] = function() return v end end \z
    print(t[1](), t[3]())",
  "local a <close> = setmetatable({}, { __close = function() print 'closed' end }) print 'open'",
  "local s = 'it\\'s \"local q\"' goto over local u ::over:: print(s)",
  "local x = ({ f = function() local y = 1 return y end }).f() \z
    while x < 3 do local x2 = x x = x2 + 1 end print(x)",
}
for k, text in ipairs(programs) do
  t.test("a program fed at once prints what Lua prints " .. k, function()
    local plain = load(text)
    local want = plain and runs.heard(plain)
    local said = runs.heard(function()
      local session = Session.new()
      for line in (text .. "\n"):gmatch "(.-)\n" do session:feed(line) end
    end)
    if want then t.eq(said:gsub("%(what is marked[^\n]*\n", ""), want) else t.ok(#said > 0) end
  end)
end

t.test("only top-level locals are lifted, on their own lines", function()
  local text = "local a\nlocal function b()\n  local c = 1\nend\ndo local d end"
  local lifted, names = lift(text)
  t.eq(names, { a = "local", b = "local" })
  t.eq(select(2, lifted:gsub("\n", "")), select(2, text:gsub("\n", "")))
  t.ok(load(lifted))
end)

t.test("errors are told, and leave modes as they were", function()
  local _, session = session_of {
    "local rille = require 'rille'", "local x = rille.ones(2, { requires_grad = true })",
  }
  local said, came = feed(session, "rille.no_grad(function() error 'oops' end)")
  t.ok(said:find "oops" and came == false, said)
  t.eq((feed(session, "(x * 2).requires_grad")), "true\n")
  said = feed(session, "x:matmul(rille.ones(3))")
  t.ok(said:find("input:5:1", 1, true) and said:find "matmul", said)
  said = feed(session, "x +* 2")
  t.ok(said:find "near '%+'", said)
  t.eq((feed(session, "x:sum():item()")), "2.0\n")
  said = feed(session, "local function f() local y = nil; return y.z end f()")
  t.ok(said:find "index a nil value" and said:find "'f'", said)
  t.ok(not said:find "rille.repl", said)
end)

t.test(".who lists the session's locals, and those alone", function()
  local said = session_of {
    "local t, list = require('rille').ones(2, 3), { 1 }", "local word <const> = 'a'", ".who",
  }
  t.eq(said[3], '  list             table\n  t                f32[2, 3]\n  word             "a"\n')
end)

t.test("$ runs a program, and says how it ended where that was no success", function()
  local _, session = session_of {}
  t.eq(session:feed "$ exit 0", true)
  local said, good = feed(session, "$ exit 3")
  t.ok(said:find "status 3", said)
  t.eq(good, false)
end)

t.test(".source gives the lines back that were typed, or a file's", function()
  local _, session = session_of { "local function twice(x)", "  return 2 * x", "end" }
  t.eq((feed(session, ".source twice")),
    "-- input:1:1\nlocal function twice(x)\n  return 2 * x\nend\n")
  t.ok(feed(session, ".source session_test"):find "no function but a nil")
  t.ok(feed(session, ".source string.rep"):find "C%+%+")
  _G.rille = rille
  for name, line in pairs {
    ["rille.optim.AdamW"] = "rille.optim.constructors:%d+\n.*Optimizer.new",
    ["rille.nn.Linear"] = "rille.nn.layers:%d+, the constructor of class Linear\nfunction ",
    ["rille.nn.utils.clip_grad_norm_"] = "^%-%- rille:rille.nn.utils:%d+\n",
    ["rille.nn.Linear(1, 1)"] = "rille.nn.layers:%d+, its forward\n",
    ["rille.scope"] = "rille.scope:%d+.*\n",
  } do
    local told = feed(session, ".source " .. name)
    t.ok(told:find(line), told)
  end
  _G.rille = nil
  local here <close> = runs.folder()
  native.mkdirs(here.path)
  local file = assert(io.open(here.path .. "/f.lua", "w"))
  file:write "\nfunction from_a_file()\n  return 1\nend\n"
  file:close()
  feed(session, ".load " .. here.path .. "/f.lua")
  local said = feed(session, ".source from_a_file")
  t.ok(said:find "f.lua:2\nfunction from_a_file%(%)\n  return 1\nend\n$", said)
  _G.from_a_file = nil
end)

t.test(".save writes what went well, and over nothing", function()
  local here <close> = runs.folder()
  local _, session = session_of {
    "local a = 1", "a +* 2", "error 'no'", "for i = 1, 2 do", "a = a + i", "end", "a, 2 -- both",
  }
  t.eq({ feed(session, ".save " .. here.path) }, { "", true })
  local file = assert(io.open(here.path))
  t.eq(file:read "a", "local a = 1\nfor i = 1, 2 do\na = a + i\nend\nprint(a, 2 -- both\n)\n")
  file:close()
  t.ok(feed(session, ".save " .. here.path):find "there already")
  local _, again = session_of { ".load " .. here.path }
  t.eq((feed(again, "a")), "4\n")
end)

-- What .save writes, and what that prints.
local function saved(session)
  local here <close> = runs.folder()
  feed(session, ".save " .. here.path)
  local file = assert(io.open(here.path))
  local text = file:read "a"
  file:close()
  return text, runs.heard(assert(load(text, "=saved")))
end

t.test(".save writes files that were loaded, with their locals", function()
  local here <close> = runs.folder()
  native.write_file(here.path, "#!shebang\nlocal a, b = 1, 2\n")
  local _, session = session_of { ".load " .. here.path, "a + b" }
  local text, printed = saved(session)
  t.eq(text, "-- " .. here.path .. "\n\nlocal a, b = 1, 2\n\nprint(a + b)\n")
  t.eq(printed, "3\n")
  native.write_file(here.path, "local a, c <const> = 5, 6\nreturn a * c")
  _, session = session_of { "local a = 4", ".load " .. here.path, "_1 + c", "return a" }
  t.eq({ (select(2, saved(session))) }, { "36\n5\n" })
  _, session = session_of { ".load " .. here.path, "a" }
  t.eq({ (select(2, saved(session))) }, { "5\n" })
end)

t.test(".save writes the last results as the inputs found them", function()
  local _, session = session_of {
    "local function twice(x) return 2 * x end", "twice(4), 'more'", "print 'no value'", "twice(_1)",
    "local sum = _1 + _2", "sum;", "_3 + _1 + sum",
  }
  t.eq({ (select(2, saved(session))) }, { "8\tmore\nno value\n16\n24\n56\n" })
end)

t.test("a local that is <const> stays so, until another one has its name", function()
  local said = session_of {
    "local c <const>, d = 5, 1", "c = 6", "function f() c = 7 end", "(function() c = 8 end)()",
    "d = c", "local function g(c) c = 1 return c end", "g() + d", "local c = 2", "c = 3", "c",
  }
  for k = 2, 4 do
    t.eq(said[k], ("input:2:1: attempt to assign to const variable 'c'\n"))
  end
  t.eq({ said[5], said[7], said[9], said[10] }, { "", "6\n", "", "3\n" })
end)

t.test("at the prompt `...` is nothing", function()
  t.eq(session_of { "...", "select('#', ...)", "print('a', ...)", "'...' .. 1" },
    { "", "0\n", "a\n", '"...1"\n' })
end)

t.test(".tensors tells what is alive", function()
  local _, session = session_of { "rille = require 'rille'", "local x = rille.zeros(31, 977)" }
  local said = feed(session, ".tensors")
  t.ok(said:find("1 x f32[31, 977]", 1, true), said)
end)

t.test("an expression is a list of expressions, with comments", function()
  t.eq(session_of { "1, 2 -- three", "(1) + (2)", "", "-- nothing", "select('#', nil, nil)", "1;" },
    { "1\t2\n", "3\n", "", "", "2\n", "" })
end)

t.test("large results are not kept alive", function()
  local session = Session.new()
  session:remember(rille.ones(4))
  local budget = native.memory_budget
  native.memory_budget = function() return 100 end
  session:remember(rille.ones(400))
  native.memory_budget = budget
  collectgarbage()
  t.eq({ session.env._1 == nil, session.env._2:numel() }, { true, 4 })
end)

t.test("commands", function()
  local said, session = session_of { ".time 1 + 1", ".memory", ".nothing", ".timee 1", ".quit" }
  t.ok(said[1]:find "best of %d+" and said[2]:find "^tensors ", said[1])
  t.ok(said[3]:find "no command .nothing" and said[4]:find "did you mean .time?")
  t.ok(session.over)
  local path = os.tmpname()
  native.write_file(path, "#!shebang\nlocal loaded = (loaded or 0) + 1\nfrom_file = loaded")
  said, session = session_of { ".reload", ".load " .. path, ".reload", "loaded", ".5 + 1" }
  t.ok(said[1]:find "comes first")
  t.eq({ said[4], said[5] }, { "2\n", "1.5\n" })
  os.remove(path)
  _G.from_file = nil
  said = feed(session, ".load /nowhere/at/all")
  t.ok(said:find "No such file")
  session = select(2, session_of {
    "local rille = require 'rille'", "local w = rille.ones(2, { requires_grad = true })",
  })
  said = feed(session, ".graph (w * 3 + w):sum()")
  t.ok(said:find "^sum" and said:find "\n  add" and said:find "\n    mul", said)
  t.ok(said:find "leaf", said)
  t.eq((feed(session, ".graph 5")), "that is no tensor but a number\n")
  for _, way in ipairs { ".help .graph", "?.graph" } do
    t.ok(feed(session, way):find "^  .graph EXPR +the ops", way)
  end
  t.eq((feed(session, "?.grahp")), "there is no command .grahp (did you mean .graph?)\n")
end)

t.test("completion: names, fields, methods, options, files, commands", function()
  local _, session = session_of {
    "local rille = require 'rille'", "local model = { layer = { weight = 1 } }",
    "local x = rille.ones(2)",
  }
  local function words(text)
    local list, length = complete(session, text)
    return table.concat(list, " "), length
  end
  t.eq({ words "mod" }, { "model", 3 })
  t.eq({ words "print(model.la" }, { "layer", 2 })
  t.eq({ words "model.layer." }, { "weight", 0 })
  t.eq({ words "rille.soft_mar" }, { "soft_margin_loss", 8 })
  t.eq({ words "rille.opti" }, { "optim", 4 })
  t.ok((words "rille.optim.A"):find "AdamW")
  t.ok((words "x:requires_"):find "requires_grad")
  feed(session, "local net = rille.nn.Linear(2, 2)")
  t.eq({ words "net:named_para" }, { "named_parameters", 10 })
  t.ok((words "x:sof"):find "softmax")
  t.eq({ words "rille.layer_norm(x, {2}, { ep" }, { "eps = ", 2 })
  t.eq({ words "x:sum({ keep" }, { "keepdim = ", 4 })
  t.eq({ words ".rel" }, { "reload ", 3 })
  t.eq({ words "whil" }, { "while", 4 })
  t.eq({ words "model.nothing.here" }, { "", 4 })
  local folder = os.tmpname()
  os.remove(folder)
  native.mkdirs(folder .. "/inner")
  t.eq({ words("io.open('" .. folder .. "/in") }, { folder .. "/inner/", #folder + 3 })
  native.remove_all(folder)
end)

t.test("completion inside calls: what all that takes options takes", function()
  local _, session = session_of {
    "local rille = require 'rille'", "local nn, optim, lr = rille.nn, rille.optim, rille.optim.lr",
    "local x = rille.ones(2, 2)", "local attend = nn.MultiheadAttention(4, 2)",
    "local opt = optim.SGD({ rille.ones(2) })", "local Adam = optim.AdamW",
    "local own = function() end",
  }
  local place = "device = |dtype = "
  local told = {
    { "rille.optim.AdamW(p, { we", "weight_decay = " },
    { "optim.SGD(p, { lr = 1, master", "master_weights = " },
    { "Adam(p, { ams", "amsgrad = " },
    { "rille.nn.Linear(2, 3, { bi", "bias = " },
    { "nn.Linear(2, 3, { bias = false, ", place, true },
    { "nn.MSELoss { red", "reduction = " },
    { "nn.TransformerEncoderLayer(8, 2, { norm", "norm_first = " },
    { "rille.data.Loader(t, { ba", "batch = |batch_sampler = " },
    { "rille.data.transforms.erase { sc", "scale = " },
    { "lr.OneCycle(opt, { pct", "pct_start = " },
    { "rille.optim.lr.Cosine(opt, { ", "steps = |min_lr = |periodic = |skip_aware = " },
    { "rille.recipe { acc", "accumulate = " },
    { "rille.recipe { save = { ", "every = |keep = |async = |on_error = |grace = " },
    { "rille.load('x', { mm", "mmap = " },
    { "rille.save('x', t, { ", "step = |keep = |async = |lock = " },
    { "rille.generate(m, { temp", "temperature = " },
    { "x:sum { keep", "keepdim = " },
    { "x:sum { dims = 1, keep", "keepdim = " },
    { "(x + 1):sum { keep", "keepdim = " },
    { "x:backward({ create", "create_graph = " },
    { "attend(x, { need", "need_weights = " },
    { "attend:state_dict { na", "names = " },
    { "opt:zero_grad { set_", "set_to_none = " },
    { "opt:zero", "zero_grad" },
    { "rille.progress(x, { tot", "total = " },
    { "rille.zeros(2, { dtype = \"bf", "bf16" },
    { "x:to('f", "f64|f32|f16|f8_e4m3|f8_e5m2|f8_e8m0|f6_e3m2|f6_e2m3|f4_e2m1" },
    { "nn.MSELoss { reduction = \"", "mean|sum|none" },
    { "rille.gelu(x, { approximate = 't", "tanh" },
    { "lr.Plateau(opt, { threshold_mode = '", "rel|abs" },
    { "rille.recipe { save = { on_error = \"", "stop|continue" },
    { "own { ", "" },
    { "own({ a = { ", "" },
    { "x:sum { dims = ", "" },
    { "return { ", "" },
  }
  for _, case in ipairs(told) do
    local got = table.concat(complete(session, case[1]), "|")
    if case[3] then got = got:sub(-#case[2]) end
    t.eq(got, case[2], case[1])
  end
  feed(session, "rille.recipe {")
  t.eq((complete(session, "  clip = 1, acc")), { "accumulate = " })
end)

t.test("help: everything that takes something, by its name or by the session's", function()
  local _, session = session_of { "local rille = require 'rille'", "local nn = rille.nn" }
  t.eq((feed(session, "?nn.Linear")), [[
rille.nn.Linear(in, out, { bias = true, device, dtype })

x @ weight^T + bias, over the last dim of x.

  in             size of the last dim of x: integer (required)
  out            size of the last dim of the result: integer (required)
  bias           adds a vector: boolean (default true)
  device         default: the default device: string
  dtype          default: the default dtype: rille.dtype

  gives rille.nn.Linear
]])
  t.eq((feed(session, "?optim.lr.Cosine")), [[
rille.optim.lr.Cosine(optimizer, { steps, min_lr = 0.0, periodic = false,
    skip_aware = true })

Down to min_lr along half a cosine.

  optimizer      rille.optim.Optimizer (required)
  steps          how many steps it takes: number (required)
  min_lr         the lowest rate: number (default 0.0)
  periodic       rises again after its steps: boolean (default false)
  skip_aware     moves only where the optimizer has stepped: boolean (default true)

  gives rille.optim.lr.Schedule
]])
  for name, part in pairs {
    ["rille.optim.AdamW"] = "weight_decay   times the rate", ["optim.AdamW"] = "state_dtype",
    ["rille.no_grad"] = "Ops inside are not recorded", ["rille.save"] = "rille.save(path, value, {",
    ["data.Loader"] = "batch_sampler  the order", ["rille.recipe"] = "on_error",
    Linear = "rille.nn.Linear(", ["nn.Module.parameters"] = "nn.Module.parameters",
    ["t:backward"] = "retain_graph", matmul = "rille.matmul(x, y)", optim = "AdamW EMA LBFGS",
  } do
    local said, good = feed(session, ".help " .. name)
    t.ok(said:find(part, 1, true) and good, name .. ": " .. said)
  end
  for name, near in pairs {
    ["nn.Linaer"] = "nn.Linear", sofmax = "softmax", AdmaW = "optim.AdamW", no_gard = "no_grad",
    ["data.Loadr"] = "data.Loader",
  } do
    t.eq({ feed(session, "?" .. name) }, {
      ("there is no command and no name '%s' (did you mean '%s'?)\n"):format(name, near), false,
    })
  end
end)

t.test("completion calls nothing of the script's", function()
  local session = Session.new()
  session.env.trap = setmetatable({}, { __index = function() error "called" end })
  t.eq((complete(session, "trap.field.x")), {})
  t.eq((complete(session, "trap.")), {})
  t.eq((complete(session, "trap.f({ ")), {})
  t.eq((complete(session, "trap { dtype = '/no/such/")), {})
end)

t.test("errors are short and nothing that a terminal obeys", function()
  local said = session_of {
    "error(('long '):rep(20000))", "error('\\27[31m \\0 \\127 \xc3\xa9', 0)",
    "error(setmetatable({}, { __tostring = function() error 'no' end }))",
    "error(setmetatable({}, { __tostring = function() return '\\27[0m' end }))",
    "x = = '\27'", ".load \27[31m", ".source '\\27[31m'",
  }
  t.ok(#said[1] < 4200 and said[1]:find "bytes more", #said[1])
  t.ok(said[1]:find "^input:1:1: long long", said[1])
  t.eq(said[2]:match "[^\n]*", "\\027[31m \\000 \\127 \xc3\xa9")
  t.eq(said[3], "an error whose text could not be had\n")
  t.eq(said[4], "\\027[0m\n")
  for k = 5, #said do t.ok(not said[k]:find "\27", said[k]) end
end)

t.test("an error of an expression has its line and none of the shell's calls", function()
  local said = session_of { "missing.field", "missing.field -- and a word" }
  t.eq(said[1], "input:1:1: attempt to index a nil value (global 'missing')\n")
  t.ok(said[2]:find "^input:2:%d: attempt to index a nil value %(global 'missing'%)\n$", said[2])
end)

t.test("what values look like", function()
  t.eq(show.value { 1, "a", { b = true } }, '{ 1, "a", { b = true } }')
  t.eq(show.value { ["end"] = 1, [2.5] = 2 }, '{ ["end"] = 1, [2.5] = 2 }')
  t.eq(show.value "\27[2J\n", '"\\x1b[2J\\n"')
  t.ok(show.value(rille.arange(1, 3)):find "1, 2, 3")
  local loop = {}
  loop.loop = loop
  t.ok(#show.value(loop) < 100)
  local silent = setmetatable({}, { __tostring = function() error "no" end })
  t.eq(show.value(silent), "a table whose text could not be had")
  local long = {}
  for k = 1, 100 do long[k] = k end
  t.ok(show.value(long):find "60 more")
  for line in show.value(long):gmatch "[^\n]+" do t.ok(#line <= 80, line) end
end)

t.test("a tensor as wide as the terminal is cut at the edges, or folded", function()
  local x = rille.arange(1, 60):view(3, 20)
  t.eq(native.tensor_text(x, 100), tostring(x))
  t.eq(native.tensor_text(x, 40), ([[
{{ 1,  2,  3, ..., 18, 19, 20},
 {21, 22, 23, ..., 38, 39, 40},
 {41, 42, 43, ..., 58, 59, 60}}
i64[3, 20] ]]):sub(1, -2))
  t.eq(native.tensor_text(x[1], 40), "{ 1,  2,  3, ..., 18, 19, 20}  i64[20]")
  t.eq(native.tensor_text(x[1], 30), "{ 1,  2,  3, ..., 18, 19, 20}\ni64[20]")
  t.eq(native.tensor_text(rille.arange(1, 5), 40), "{1, 2, 3, 4, 5}  i64[5]")
  t.eq(native.tensor_text(x:to "f32" / 7, 24), ([[
{{0.1429, 0.2857,
  0.4286, ..., 2.5714,
  2.7143, 2.8571},
 {3.0000, 3.1429,
  3.2857, ..., 5.4286,
  5.5714, 5.7143},
 {5.8571, 6.0000,
  6.1429, ..., 8.2857,
  8.4286, 8.5714}}
f32[3, 20] ]]):sub(1, -2))
  local shapes = { { 20, 20 }, { 3, 4, 50 }, { 7, 30, 9 }, { 200 }, { 2000 }, { 8, 8, 8, 8 } }
  for _, shape in ipairs(shapes) do
    for _, columns in ipairs { 30, 44, 80, 132 } do
      local text = native.tensor_text(rille.randn(shape) * 100, columns)
      for line in text:gmatch "[^\n]+" do t.ok(#line <= columns, line) end
    end
  end
end)
