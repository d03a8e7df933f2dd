-- Whose the memory is: lines and ops of large tensors in snapshots and errors, blocks that only the
-- tape holds; rille.memory.watch finds what keeps graphs, and nothing in loops that keep none.
local t = require "support.test"
local rille = require "rille"
local nn, memory = rille.nn, rille.memory
local MiB = 2 ^ 20

local function here()
  local info = debug.getinfo(2, "Sl")
  return info.short_src:match "[^/]+$" .. ":" .. info.currentline
end

local function ends_with(text, tail)
  t.ok(text and text:sub(-#tail) == tail, ("%s does not end with %s"):format(text, tail))
end

local function entry_of(elements)
  for _, h in ipairs(memory.snapshot()) do
    if h.shape and h.shape[1] == elements then return h end
  end
end

t.test("a snapshot names op and line of large tensors", function()
  local x = rille.ones(MiB + 17) local line = here()
  local h = entry_of(MiB + 17)
  t.eq({ h.op, h.count, h.bytes }, { "ones", 1, 4 * (MiB + 17) })
  ends_with(h.line, line)
  local y = x + 1 line = here()
  local found
  for _, one in ipairs(memory.snapshot()) do found = found or one.op == "add" and one end
  ends_with(found.line, line)
  t.eq(y:numel(), MiB + 17)
end)

t.test("what is small has no line", function()
  local x = rille.ones(1013)
  local h = entry_of(1013)
  t.eq({ h.op == nil, h.line == nil, x:numel() }, { true, true, 1013 })
end)

t.test("what only the tape holds is there, by the line that made it", function()
  local w = rille.ones(MiB, { requires_grad = true })
  local line, y
  do
    local inner = w:sigmoid() line = here()
    y = (inner * inner):sum()
  end
  collectgarbage()
  collectgarbage()
  local found
  for _, h in ipairs(memory.snapshot()) do
    if h.tape and h.op == "sigmoid" then found = h end
  end
  t.ok(found, "an entry of the tape")
  t.eq({ found.bytes, found.dtype == nil }, { 4 * MiB, true })
  ends_with(found.line, line)
  y:backward()
  local _ <close> = y
  collectgarbage()
  collectgarbage()
  for _, h in ipairs(memory.snapshot()) do t.ok(not (h.tape and h.op == "sigmoid"), "freed") end
end)

t.test("an error for want of memory tells the lines", function()
  local x <close> = rille.ones(2 * MiB + 3) local line = here()
  memory.limit(memory.allocated() + MiB)
  local fine, err = pcall(rille.ones, 8 * MiB)
  memory.limit(0)
  t.ok(not fine)
  t.eq(err.code, "E_OOM_BUDGET")
  local found
  for _, fact in ipairs(err.facts) do
    if fact:find("f32[2097155]", 1, true) then found = fact end
  end
  ends_with(found, line)
  t.ok(found:find "ones ", found)
  t.ok(#err.facts <= 11, #err.facts)
end)

-- ---- watch

local warnings

-- The warnings of fn(watch), which runs `count` steps of its own.
local function warned(fn)
  warnings = {}
  local before = warn
  warn = function(text) warnings[#warnings + 1] = text end -- luacheck: ignore
  local _ <close> = setmetatable({}, { __close = function() warn = before end }) -- luacheck: ignore
  local watch <close> = memory.watch()
  fn(watch)
  return warnings, watch.found
end

local function setting()
  rille.seed(1)
  local model = nn.Linear(3, 1)
  return model, rille.optim.SGD(model:parameters(), { lr = 0.01 })
end

local function step_of(model, optimizer)
  optimizer:zero_grad()
  local loss = model(rille.randn(4, 3)):square():mean()
  loss:backward()
  optimizer:step()
  return loss
end

-- Runs fn(i) so often that a leak shows within five steps.
local function finds(title, op, make)
  t.test(title, function()
    local model, optimizer = setting()
    local line, after = nil, nil
    local texts, found = warned(function(watch)
      local one = make(model, optimizer, watch)
      for i = 1, 8 do
        line = one(i) or line
        if watch.found and not after then after = i end
      end
    end)
    t.eq(#texts, 1)
    t.ok(after <= 5, ("after %s steps"):format(after))
    t.eq(found.op, op)
    ends_with(found.line, line)
    t.ok(texts[1]:find("W_GRAPH_GROWS: ", 1, true) and texts[1]:find(line, 1, true), texts[1])
  end)
end

finds("total = total + loss", "add", function(model, optimizer)
  local total = 0
  return function()
    local loss = step_of(model, optimizer)
    total = total + loss local line = here()
    return line
  end
end)

finds("a list of losses", "mean", function(model, optimizer)
  local losses, line = {}, nil
  return function(i)
    optimizer:zero_grad()
    local loss = model(rille.randn(4, 3)):square():mean() line = here()
    loss:backward()
    optimizer:step()
    losses[i] = loss
    return #losses > 0 and line
  end
end)

finds("a hidden state without detach", "tanh", function(_, _, watch)
  local w = rille.randn(3, 3):requires_grad_()
  local h, line = rille.zeros(2, 3), nil
  return function()
    local inner = h:matmul(w)
    h = inner:tanh() line = here()
    watch:step()
    return line
  end
end)

finds("a regulariser that is summed up, without an optimizer", "add", function(_, _, watch)
  local w = rille.randn(3):requires_grad_()
  local penalty = rille.zeros {}
  return function()
    penalty = penalty + w:square():sum() local line = here()
    watch:step()
    return line
  end
end)

local function silent(title, make)
  t.test(title, function()
    local model, optimizer = setting()
    local texts, found = warned(function(watch)
      local one = make(model, optimizer, watch)
      for i = 1, 12 do one(i) end
    end)
    t.eq(texts, {})
    t.eq(found, nil)
  end)
end

silent("nothing in a plain loop, with the mean of losses as numbers", function(model, optimizer)
  local total, last = 0, nil
  return function()
    last = step_of(model, optimizer)
    total = total + last:item()
    return last
  end
end)

silent("nothing with a state that is detached", function(_, _, watch)
  local w = rille.randn(3, 3):requires_grad_()
  local h = rille.zeros(2, 3)
  return function()
    h = h:detach():matmul(w):tanh()
    h:sum():backward()
    watch:step()
  end
end)

silent("nothing with sequences of growing length", function(model, optimizer)
  return function(i)
    optimizer:zero_grad()
    local x = rille.randn(4, 3)
    for _ = 1, i do x = (x + model(x)):tanh() end
    x:sum():backward()
    optimizer:step()
  end
end)

silent("nothing with graphs from before, and of the last step", function(model, optimizer)
  local constant, last = model.weight:square():sum(), nil
  return function()
    last = step_of(model, optimizer)
    return constant, last
  end
end)

silent("nothing with gradients added up over several backwards", function(model, optimizer)
  return function(i)
    model(rille.randn(4, 3)):square():mean():backward()
    if i % 3 == 0 then
      optimizer:step()
      optimizer:zero_grad()
    end
  end
end)

t.test("a function's results pass; after it nothing is watched", function()
  local model, optimizer = setting()
  local a, b = memory.watch(function(x, y) return x, y end, 1, 2)
  t.eq({ a, b }, { 1, 2 })
  t.ok(not pcall(memory.watch, function() error "stop" end), "errors pass")
  local watch = memory.watch()
  t.ok(tostring(watch):find "nothing found", tostring(watch))
  watch:close()
  watch:close()
  local losses = {}
  for i = 1, 8 do losses[i] = step_of(model, optimizer) end
  watch:step()
  t.eq({ watch.found == nil, #losses }, { true, 8 })
end)

t.test("wrong calls are refused", function()
  for _, wrong in ipairs { 1, "x", true, {} } do
    t.error_like(function() memory.watch(wrong) end, { code = "E_TYPE", op = "watch" })
  end
end)

-- ---- the page

t.test("a page holds what a snapshot does, over time, with nothing outside of it", function()
  local path = os.tmpname()
  local _ <close> = setmetatable({}, { __close = function() os.remove(path) end })
  local x = rille.ones(MiB + 29) local line = here()
  for _ = 1, 3 do local _ <close> = x * 2 end
  t.eq(memory.snapshot(path), nil)
  local file <close> = io.open(path)
  local text = file:read "a"
  t.ok(text:find("^<!doctype html>") and text:find("</html>\n$"), "a whole page")
  t.ok(text:find("f32[1048605]", 1, true), "the tensor")
  t.ok(text:find(line, 1, true), "its line")
  t.ok(text:find("<svg", 1, true) and text:find("mul ", 1, true), "what came and went")
  t.ok(text:find("prefers-color-scheme:dark", 1, true), "dark, too")
  for _, outside in ipairs { "http", "src=", "@import", "url(", "<script", "<link" } do
    t.ok(not text:find(outside, 1, true), outside)
  end
  t.ok(not text:find "nan" and not text:find "inf", "numbers")
  t.eq(x:numel(), MiB + 29)
end)

t.test("a page that can't be written is E_IO; a wrong path E_TYPE", function()
  t.error_like(function() memory.snapshot "/nowhere/at/all.html" end, { code = "E_IO" })
  t.error_like(function() memory.snapshot "/tmp" end, { code = "E_IO" })
  for _, wrong in ipairs { 1, true, {} } do
    t.error_like(function() memory.snapshot(wrong) end, { code = "E_TYPE" })
  end
end)
