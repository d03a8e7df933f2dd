-- Folders of saved tables, saves that are not waited for, and the options of files.
local t = require "support.test"
local rille = require "rille"
local native = require "rille.native"

-- A folder of its own, gone at the end of the scope.
local function folder()
  local path = os.tmpname()
  os.remove(path)
  return setmetatable({ path = path }, { __close = function() native.remove_all(path) end })
end

-- Files that a step of training would see, without locks and links.
local function steps(path)
  local names = {}
  for _, name in ipairs(native.list(path)) do
    if name:find "^step" then names[#names + 1] = name end
  end
  return names
end

local function flip_last_byte(path)
  local file <close> = assert(io.open(path, "r+b"))
  file:seek("end", -1)
  local byte = file:read(1):byte()
  file:seek("end", -1)
  file:write(string.char(byte ~ 1))
end

t.test("a folder keeps the newest", function()
  local f <close> = folder()
  for step = 1, 5 do
    local path = rille.save(f.path, { step = step, x = rille.full({ 3 }, step) },
      { step = step, keep = 3 })
    t.eq(path, f.path .. "/step-" .. step .. ".safetensors")
  end
  t.eq(steps(f.path), { "step-3.safetensors", "step-4.safetensors", "step-5.safetensors" })
  rille.save(f.path, { step = 6 }, { step = 6 })
  t.eq(steps(f.path), { "step-5.safetensors", "step-6.safetensors" })
  local saved, about = rille.load_latest(f.path)
  t.eq(saved.step, 6)
  t.eq(about, { step = 6, path = f.path .. "/step-6.safetensors", rejected = {} })
  t.eq(rille.load(f.path .. "/last.safetensors").step, 6)
end)

t.test("load_latest falls back to the one before, and says why", function()
  local f <close> = folder()
  for step = 1, 3 do
    rille.save(f.path, { x = rille.full({ 3 }, step) }, { step = step, keep = 3 })
  end
  flip_last_byte(f.path .. "/step-3.safetensors")
  local saved, about = rille.load_latest(f.path, { mmap = true })
  t.eq(saved.x:tolist(), { 2, 2, 2 })
  t.eq(about.step, 2)
  t.eq(#about.rejected, 1)
  t.eq(about.rejected[1].path, f.path .. "/step-3.safetensors")
  t.ok(about.rejected[1].reason:find("tensor 'x' fails its checksum", 1, true))
  t.error_like(function() rille.load_latest(f.path, { strict = true }) end,
    { code = "E_CKPT_TORN", message = "no usable checkpoint in '" .. f.path .. "'" })
  flip_last_byte(f.path .. "/step-2.safetensors")
  flip_last_byte(f.path .. "/step-1.safetensors")
  t.error_like(function() rille.load_latest(f.path) end, { code = "E_CKPT_TORN" })
end)

t.test("of an empty folder, and of none, load_latest gives nil", function()
  local f <close> = folder()
  t.eq(rille.load_latest(f.path), nil)
  native.mkdirs(f.path)
  t.eq(rille.load_latest(f.path), nil)
end)

t.test("a save that is not waited for writes what was there when it began", function()
  local f <close> = folder()
  local x = rille.full({ 1000 }, 1)
  local save = rille.save(f.path, { x = x }, { step = 1, async = true })
  x:fill_(2)
  t.eq(save:wait(), f.path .. "/step-1.safetensors")
  t.eq(save:done(), true)
  t.eq(save:wait(), f.path .. "/step-1.safetensors")
  t.eq(rille.load_latest(f.path).x:sum():item(), 1000)
  local path = f.path .. "/alone.safetensors"
  t.eq(rille.save(path, { x = x }, { async = true }):wait(), path)
  t.eq(rille.load(path).x:sum():item(), 2000)
  local lost = rille.save(f.path .. "/no/such/folder", { x = x }, { async = true })
  t.error_like(function() lost:wait() end, { code = "E_IO", message = "No such file or directory" })
end)

t.test("without a lock there is no lock file", function()
  local f <close> = folder()
  native.mkdirs(f.path)
  rille.save(f.path .. "/a", { 1 }, { lock = false })
  t.eq(native.list(f.path), { "a" })
  rille.save(f.path .. "/a", { 2 })
  t.eq(native.list(f.path), { "a", "a.lock" })
end)

t.test("options of save are known ones", function()
  local f <close> = folder()
  local cases = {
    { { foo = 1 }, "E_OPTION", "unknown option 'foo'" },
    { { aync = true }, "E_OPTION", "did you mean 'async'?" },
    { { keep = 2 }, "E_OPTION", "'keep' goes with 'step'" },
    { { step = 1, lock = false }, "E_OPTION", "'lock' can't be false with 'step'" },
    { { step = "1" }, "E_TYPE", "option 'step' must be an integer" },
    { { step = -1 }, "E_ARG", "step must be 0 or more, got -1" },
    { { step = 1, keep = 0 }, "E_ARG", "'keep' must be at least 1, got 0" },
    { { async = 1 }, "E_TYPE", "async" },
    { 5, "E_TYPE", "options" },
  }
  for _, case in ipairs(cases) do
    t.error_like(function() rille.save(f.path, { 1 }, case[1]) end,
      { code = case[2], message = case[3], op = "save" })
  end
  t.eq(native.exists(f.path), false)
end)

t.test("options of load are known ones, and map_device is the device", function()
  local f <close> = folder()
  native.mkdirs(f.path)
  local path = f.path .. "/a"
  rille.save(path, { x = rille.ones(2) })
  t.eq(rille.load(path, { map_device = "cpu:1" }).x.device, "cpu:1")
  t.eq(rille.load(path, { device = "cpu:1", strict = true }).x.device, "cpu:1")
  local cases = {
    { { map_device = "nonsense" }, nil, "nonsense" },
    { { map_device = 1 }, "E_TYPE", "map_device" },
    { { map_device = "cpu", device = "cpu" }, "E_OPTION", "are the same option" },
    { { strict = false }, "E_OPTION", "a damaged file is never read" },
    { { strict = 1 }, "E_TYPE", "strict" },
    { { mmmap = true }, "E_OPTION", "did you mean 'mmap'?" },
  }
  for _, case in ipairs(cases) do
    t.error_like(function() rille.load(path, case[1]) end,
      { code = case[2], message = case[3], op = "load" })
  end
end)

t.test("tensors that occur twice stay one, among many", function()
  local f <close> = folder()
  native.mkdirs(f.path)
  local path, many = f.path .. "/many", {}
  for i = 1, 3000 do many[i] = rille.full({ 1 }, i) end
  for i = 1, 3000 do many[3000 + i] = many[i] end
  rille.save(path, many)
  local names = rille.io.safetensors(path):names()
  t.eq(#names, 3000)
  local loaded = rille.load(path)
  t.ok(loaded[3000 + 17] == loaded[17])
  t.eq(loaded[6000]:item(), 3000)
end)
