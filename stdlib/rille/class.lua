-- Classes of the library's objects: class "Schedule" gives the metatable of its objects. Functions
-- that are set in it become their methods; names that begin with `__` are its events. The methods
-- stand in a table of their own that no object leads to: `object.__index` is nil, so a script can't
-- change a class for those that come after it.
return function(name)
  local methods = {}
  return setmetatable({ __name = name, __index = methods }, {
    __index = methods,
    __newindex = function(class, key, value)
      if key:sub(1, 2) == "__" then rawset(class, key, value) else methods[key] = value end
    end,
    names = function()                                   -- for completion and annotations
      local names = {}
      for key in next, methods do names[#names + 1] = key end
      table.sort(names)
      return names
    end,
  })
end
