-- data.map(set, f): items passed through a function; data.concat(a, b, ...): datasets one after
-- another.
local check = require "rille.check"
local class = require "rille.class"
local check_set = require "rille.data.check_set"

local Map = class "data.map"
local map_methods = Map.__index

-- A dataset whose items go through a function.
--: set: rille.data.Set, f: fun(item: any): any -> rille.data.Set
function Map.new(set, f)
  check_set("map", "set", set)
  check("map", "f", f, { type = "fun" })
  return setmetatable({ set = set, f = f }, Map)
end

function Map:__index(key)
  if math.type(key) ~= "integer" then return map_methods[key] end
  return self.f(self.set[key])
end

function Map:__len()
  return #self.set
end

local Concat = class "data.concat"
local concat_methods = Concat.__index

-- Datasets one after another.
--: ...: rille.data.Set -> rille.data.Set
function Concat.new(...)
  local sets, count = { ... }, 0
  for i = 1, select("#", ...) do count = count + #check_set("concat", "#" .. i, sets[i]) end
  return setmetatable({ sets = sets, count = count }, Concat)
end

function Concat:__index(key)
  if math.type(key) ~= "integer" then return concat_methods[key] end
  for _, set in ipairs(self.sets) do
    if key <= #set then return set[key] end
    key = key - #set
  end
end

function Concat:__len()
  return self.count
end

return { Map = Map, Concat = Concat }
