-- The call that the cursor is in: what its table may hold and its strings may be, as the library
-- declares it.
local values = require "rille.repl.values"

local call = {}

local no_names = {}                      -- words that may stand before a table and call nothing
for word in ("and do else elseif for if in not or repeat return then until while"):gmatch "%a+" do
  no_names[word] = true
end

-- What the text's last name does and takes. A method of something that is not known before it is
-- there is taken for a tensor's.
local function entry_of(session, text)
  local catalog = require "rille.annotations.catalog"
  local from, path = text:match "()([%a_][%w_.:]*)%s*$"
  if not path or no_names[path] then return nil end
  local place
  if text:sub(1, from - 1):match "[.:]%s*$" then
    place = catalog.at("Tensor." .. path)
  else
    local value = values.of(session, path)
    if value == nil then
      place = catalog.at("Tensor." .. (path:match ":([%w_]+)$" or ""))
    else
      place = catalog.of(value) or catalog.of(values.field(value, "forward"))
    end
  end
  return place and catalog.entry(place), path
end

-- The text before a bracket: of `f(x, {` up to `f`, of `f {` as well.
local function callee(text, open)
  local before = text:sub(1, open[2] - 1)
  if open[1] == "{" and not before:match "[%w_]%s*$" then
    local around = open[3]
    return around and around[1] == "(" and text:sub(1, around[2] - 1) or nil
  end
  return before
end

-- The options that the table may hold in which the cursor is; `open` is its bracket.
function call.options(session, text, open)
  if not open or open[1] ~= "{" then return nil end
  local before = text:sub(1, open[2] - 1)
  local name = before:match "([%a_][%w_]*)%s*=%s*$"
  if name then                                           -- a table within a table of options
    for _, option in ipairs(call.options(session, text, open[3]) or {}) do
      if option.name == name then return option.fields end
    end
    return nil
  end
  local called = callee(text, open)
  local entry = called and entry_of(session, called)
  return entry and entry.options
end

-- The strings that may stand at the quote: of an option in a table, or a call's first argument.
function call.choices(session, text, open, quote)
  local choices = require "rille.annotations.choices"
  local before = text:sub(1, quote - 1)
  local name = before:match "([%a_][%w_]*)%s*=%s*$"
  if name then
    for _, option in ipairs(call.options(session, text, open) or {}) do
      if option.name == name then return choices.of(option.type) end
    end
  elseif before:match "[%w_]%s*%(%s*$" or before:match "[%w_]%s*$" then
    local entry = entry_of(session, (before:gsub("%(%s*$", "")))
    local first = entry and entry.params[1]
    return first and choices.of(first.type) or {}
  end
  return {}
end

return call
