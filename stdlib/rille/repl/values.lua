-- What names stand for in a session, found without a call of anything that is the script's.
local native = require "rille.native"

local values = {}

-- The class of an object of the library whose fields are found by a function: its methods.
function values.class_of(value)
  local meta = getmetatable(value)
  local by_function = type(meta) == "table" and type(rawget(meta, "__index")) == "function"
  if not by_function or rawget(meta, "names") then return nil end
  return require "rille.annotations.catalog".of(meta) and meta
end

-- value[name] without a call of anybody's __index, but for that of a table which tells its names:
-- those are the engine's, and load what they have late.
function values.field(value, name)
  if native.is_tensor(value) then return native.tensor_methods[name] end
  local own = type(value) == "table" and rawget(value, name)
  if own ~= nil and own ~= false then return own end
  local meta = getmetatable(value)
  if type(meta) ~= "table" then return nil end
  local index = rawget(meta, "__index")
  if type(index) == "table" then return rawget(index, name) end
  if not rawget(meta, "names") then
    local class = values.class_of(value)
    return class and class[name]
  end
  local ok, found = pcall(index, value, name)
  return ok and found or nil
end

-- The value of a local of the session, one of its last results or a global.
local function variable(session, name)
  local place = tonumber(name:match "^_(%d)$")
  if place and session.results[place] then return session.results[place][1] end
  if session.declared[name] then return rawget(session.env, name) end
  return rawget(_G, name)
end

-- The value that `a.b:c` stands for, or nil.
function values.of(session, path)
  local first, rest = path:match "^([%a_][%w_]*)(.*)$"
  if not first then return nil end
  local value = variable(session, first)
  for name in rest:gmatch "[%a_][%w_]*" do value = values.field(value, name) end
  return value
end

return values
