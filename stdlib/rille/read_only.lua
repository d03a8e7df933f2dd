-- Module tables that refuse assignments: the table that scripts see is empty, so that Lua asks its
-- metatable on every write; reads go through to the contents. (`rille` itself has its functions as
-- fields of its own: looking one up is in every script's innermost loop.)
local fail = require "rille.fail"

return function(title, contents)
  local inner = getmetatable(contents)
  return setmetatable({}, {
    __name = title,
    __index = contents,
    __newindex = function(_, name)
      fail.argument(title, "'%s' can't be set: this table is read-only", tostring(name))
    end,
    __pairs = function() return next, contents end,
    __call = inner and inner.__call,
    __tostring = function() return title end,
  })
end
