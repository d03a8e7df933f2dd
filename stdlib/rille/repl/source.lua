-- The text of a function, from where it was written: an input of the session, the standard library
-- or a file.
local native = require "rille.native"

local function lines(text, first, last)
  local out, n = {}, 0
  for line in (text .. "\n"):gmatch "(.-)\r?\n" do
    n = n + 1
    if n >= first and n <= last then out[#out + 1] = line end
  end
  return table.concat(out, "\n")
end

local function text_of(session, info)
  local source = info.source
  if session.texts[source] then return session.texts[source] end
  local path = source:match "^@(.*)"
  local text = path and native.module_text(path:match "^rille:(.*)" or "")
  if text then return text end
  if not path then return nil, ("there is no file of %s"):format(info.short_src) end
  local file, problem = io.open(path, "r")
  if not file then return nil, problem end
  text = file:read "a"
  file:close()
  return text
end

-- What a value runs, and what that is to it: a class has its constructor, an object of one its
-- forward, another table what a call of it runs.
local function function_of(value)
  local module = require "rille.nn.module"
  if module.is_class(value) then return value.init, ("the constructor of %s"):format(value) end
  if module.is_module(value) then return value.forward, "its forward" end
  local meta = type(value) == "table" and getmetatable(value)
  local called = type(meta) == "table" and rawget(meta, "__call")
  if called then return called, "what a call of it runs" end
  return value
end

-- The lines of a function under a line that tells the place. Without them: why.
return function(session, value)
  local fn, role = function_of(value)
  if type(fn) ~= "function" then
    return nil, ("that is no function but a %s"):format(type(value))
  end
  local info = debug.getinfo(fn, "S")
  if info.what == "C" then return nil, "it is written in C++; ?NAME says what an op does" end
  local text, problem = text_of(session, info)
  if not text then return nil, problem end
  local place = ("-- %s:%d%s"):format(info.short_src, info.linedefined,
    role and (", %s"):format(role) or "")
  return place .. "\n" .. lines(text, info.linedefined, info.lastlinedefined)
end
