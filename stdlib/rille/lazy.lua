-- A read-only module table whose contents are loaded when they are first asked for. `parts` lists
-- modules that return tables of names; `named` maps a field to the module that is its value.
local fail = require "rille.fail"

local function collect(list, names)
  for key in pairs(list) do
    if type(key) == "string" then names[#names + 1] = key end
  end
end

return function(title, parts, named)
  local loaded, known = 0, {}

  local function find(key)
    local path = named and named[key]
    if path then
      known[key] = require(path)
      return known[key]
    end
    while known[key] == nil and loaded < #parts do
      for name, value in pairs(require(parts[loaded + 1])) do known[name] = value end
      loaded = loaded + 1                -- not before: for want of memory it may be tried again
    end
    return known[key]
  end

  local function all_names()
    local names = {}
    find(nil)
    collect(known, names)
    for name in pairs(named or {}) do
      if known[name] == nil then names[#names + 1] = name end
    end
    table.sort(names)
    return names
  end

  return setmetatable({}, {
    __name = title,
    names = all_names,                                   -- for completion
    __index = function(_, key)
      local value = known[key]
      if value == nil then value = find(key) end
      if value == nil then
        local hint = fail.suggestion(key, all_names())
        fail.argument(title, "has no '%s'%s", tostring(key), hint)
      end
      return value
    end,
    __newindex = function(_, key)
      fail.argument(title, "'%s' can't be set: this table is read-only", tostring(key))
    end,
    __pairs = function(self)
      local names, i = all_names(), 0
      return function()
        i = i + 1
        if names[i] then return names[i], self[names[i]] end
      end
    end,
    __tostring = function() return title end,
  })
end
