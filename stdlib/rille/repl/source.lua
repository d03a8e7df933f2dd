-- The text of a function, from where it was written: an input of the session or a file.
local function lines(text, first, last)
  local out, n = {}, 0
  for line in (text .. "\n"):gmatch "(.-)\r?\n" do
    n = n + 1
    if n >= first and n <= last then out[#out + 1] = line end
  end
  return table.concat(out, "\n")
end

local function text_of(session, source)
  if session.texts[source] then return session.texts[source] end
  local path = source:match "^@(.*)"
  if not path then return nil, ("it is part of rille (%s)"):format(source:sub(2)) end
  local file, problem = io.open(path, "r")
  if not file then return nil, problem end
  local text = file:read "a"
  file:close()
  return text
end

-- The lines of fn under a line that tells the place. Without them: why.
return function(session, fn)
  if type(fn) ~= "function" then
    return nil, ("that is no function but a %s"):format(type(fn))
  end
  local info = debug.getinfo(fn, "S")
  if info.what == "C" then return nil, "it is written in C++; ?NAME says what an op does" end
  local text, problem = text_of(session, info.source)
  if not text then return nil, problem end
  local place = ("-- %s:%d"):format(info.short_src, info.linedefined)
  return place .. "\n" .. lines(text, info.linedefined, info.lastlinedefined)
end
