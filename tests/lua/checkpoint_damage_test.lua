-- A checkpoint of a real run with bits flipped, cut short, or in another's place: never read as if
-- nothing were.
local t = require "support.test"
local rille = require "rille"
local native = require "rille.native"
local random_state = require "rille.random_state"

local function sample(path)
  local model = rille.nn.Sequential(rille.nn.Linear(5, 9), rille.nn.BatchNorm1d(9))
  local optimizer = rille.optim.AdamW(model:parameters(), { lr = 0.01 })
  model(rille.randn(4, 5)):square():mean():backward()
  optimizer:step()
  rille.save(path, {
    step = 7, objects = { model = model:state_dict(), optimizer = optimizer:state_dict() },
    random = random_state.get(), note = "größe", ["\31\127"] = rille.ones(2),
  })
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local function put(path, bytes)
  local file <close> = assert(io.open(path, "wb"))
  file:write(bytes)
end

-- A file's path, gone at the end of the scope.
local function temporary()
  local path = os.tmpname()
  return setmetatable({ path = path }, { __close = function()
    os.remove(path)
    os.remove(path .. ".lock")
  end })
end

t.test("of a thousand flipped bits each is seen", function()
  local file <close> = temporary()
  local bad <close> = temporary()
  sample(file.path)
  local bytes, refused = read(file.path), 0
  local _ <close> = random_state.keep()
  math.randomseed(20)
  local flips = os.getenv "RILLE_GC_STRESS" and 100 or 1000
  for _ = 1, flips do
    local at, bit = math.random(#bytes), math.random(0, 7)
    local flipped = string.char(bytes:byte(at) ~ (1 << bit))
    put(bad.path, bytes:sub(1, at - 1) .. flipped .. bytes:sub(at + 1))
    local ok, err = pcall(rille.load, bad.path)
    if not ok and (err.code == "E_CKPT_TORN" or err.code == "E_FORMAT") then
      refused = refused + 1
    else
      t.eq({ at = at, bit = bit, ok = ok, err = tostring(err) }, "an error that says so")
    end
  end
  t.eq(refused, flips)
end)

-- JSON spells a control character in hexadecimal: in capitals it is the same one, a bit away.
t.test("a flipped bit in an escape is seen", function()
  local file <close> = temporary()
  local bad <close> = temporary()
  rille.save(file.path, { ["\31\127\n"] = rille.ones(2), note = "a\\b\"\r\t\0" })
  t.eq(rille.load(file.path).note, "a\\b\"\r\t\0")
  local bytes, changes = read(file.path), 0
  local step = os.getenv "RILLE_GC_STRESS" and 31 or 1
  for at = 1, bytes:find('"data_offsets"', 1, true), step do
    for bit = 0, 7 do
      local flipped = string.char(bytes:byte(at) ~ (1 << bit))
      put(bad.path, bytes:sub(1, at - 1) .. flipped .. bytes:sub(at + 1))
      if pcall(rille.load, bad.path) then error(("bit %d of byte %d"):format(bit, at)) end
      changes = changes + 1
    end
  end
  t.ok(changes * step > 800)
  local spelt = bytes:gsub('"\\u001f', '"\\u001F') -- the name's own, not that in the sums
  put(bad.path, spelt)
  t.error_like(function() rille.load(bad.path) end, { code = "E_CKPT_TORN",
    message = "header has an escape that Rille does not write" })
end)

t.test("every cut is seen", function()
  local file <close> = temporary()
  local bad <close> = temporary()
  sample(file.path)
  local bytes = read(file.path)
  for n = 0, #bytes - 1, 13 do
    put(bad.path, bytes:sub(1, n))
    t.error_like(function() rille.load(bad.path) end, { code = "E_FORMAT" })
  end
end)

t.test("math.random goes on where it was", function()
  local state = native.lua_random_state()
  local function draws()
    local list = {}
    for i = 1, 5 do list[i] = math.random(0) end
    return list
  end
  local first = draws()
  native.set_lua_random_state(state)
  t.eq(draws(), first)
  math.randomseed(5, 6)
  local seeded = native.lua_random_state()
  math.randomseed(5, 6)
  t.eq(native.lua_random_state(), seeded)
  t.error_like(function() native.set_lua_random_state { 1, 2 } end, { code = "E_TYPE" })
end)
