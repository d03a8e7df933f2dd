-- The inputs of a session that went well, and the script that they make: their own words where
-- that is possible, so that the locals of one are there for the next.
local lift = require "rille.repl.lift"

local Record = {}
Record.__index = Record

function Record.new() return setmetatable({ names_results = false }, Record) end

-- `gave` is whether it had values; `path` is that of the file that was loaded.
function Record:add(text, gave, path)
  self[#self + 1] = { text = text, gave = gave, path = path }
  if text:find "%f[%w_]_[123]%f[^%w_]" then self.names_results = true end
end

-- What the shell does with the values of an input, for scripts that name _1, _2 or _3.
local kShow = [[
local _1, _2, _3
local function _show(...)
  if select("#", ...) == 0 then return end
  _1, _2, _3 = ..., _1, _2
  print(...)
end]]

-- An expression in a call: on its own line where it ends with a comment.
local function in_call(name, text)
  local values = text:gsub(";%s*$", "")
  return name .. "(" .. values .. (values:find("--", 1, true) and "\n)" or ")")
end

-- Text that returns ends no script inside a function, whose locals are declared before it.
local function as_function(item, declared, names_results)
  local lifted, names = lift(item.text)
  local fresh = {}
  for name in pairs(names) do
    if not declared[name] then fresh[#fresh + 1] = name end
  end
  table.sort(fresh)
  local before = #fresh > 0 and "local " .. table.concat(fresh, ", ") .. "\n" or ""
  local call = "(function(...)\n" .. lifted .. "\nend)(...)"
  if not item.path then return before .. (names_results and "_show(" or "print(") .. call .. ")" end
  if not (item.gave and names_results) then return before .. "local _ = " .. call end
  return before .. "_1, _2, _3 = " .. call .. ", _1, _2"
end

local function can_go_on(text) return load(text .. "\ndo end", "=input", "t") ~= nil end

-- An input as a script may have it: a value that is only looked at is printed there.
local function statement(item, declared, names_results)
  local text = item.text
  if not item.path and not load(text, "=input", "t") then
    return in_call(names_results and "_show" or "print", text)
  elseif not can_go_on(text) then
    return as_function(item, declared, names_results)
  end
  return item.gave and names_results and in_call("_show", text) or text
end

-- The whole script, with a line end unless it is empty.
function Record:script()
  local parts, declared = { self.names_results and kShow or nil }, {}
  for _, item in ipairs(self) do
    if item.path then parts[#parts + 1] = "-- " .. item.path:gsub("%c", "?") end
    parts[#parts + 1] = statement(item, declared, self.names_results)
    for name in pairs(select(2, lift(item.text))) do declared[name] = true end
  end
  return #parts > 0 and table.concat(parts, "\n") .. "\n" or ""
end

return Record
