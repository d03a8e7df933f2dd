-- rille.amp.f8: training with products of 8-bit floats, and the setting f8.allow_mm, which lets ops
-- that are no scaled products multiply such floats (each op alone in f32, its result rounded).
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"
local lazy = require "rille.lazy"

local contents = lazy("rille.amp.f8", { "rille.amp.f8.linear", "rille.amp.f8.convert" }, {
  DelayedScaling = "rille.amp.f8.delayed_scaling",
})

local function names()
  local list = getmetatable(contents).names()
  table.insert(list, "allow_mm")
  table.insert(list, "amax_scale")
  table.sort(list)
  return list
end

return setmetatable({}, {
  __name = "rille.amp.f8",
  names = names,                                         -- for completion
  __index = function(_, name)
    if name == "amax_scale" then return rille.amax_scale end
    if name == "allow_mm" then return native.mode "narrow_products" end
    return contents[name]
  end,
  __newindex = function(_, name, on)
    if name ~= "allow_mm" then
      fail.argument("rille.amp.f8", "'%s' can't be set, only 'allow_mm' can", tostring(name))
    end
    if type(on) ~= "boolean" then fail.type("rille.amp.f8", name, "true or false", on) end
    native.mode("narrow_products", on)
  end,
  __pairs = function(self)
    local list, i = names(), 0
    return function()
      i = i + 1
      if list[i] then return list[i], self[list[i]] end
    end
  end,
  __tostring = function() return "rille.amp.f8" end,
})
