-- data.idx(images, labels): IDX files (MNIST's format), plain or .gz; set[i] is { x = u8 image, y
-- = integer }.
local rille = require "rille"
local native = require "rille.native"
local class = require "rille.class"
local fail = require "rille.fail"

local Idx = class "data.idx"
local methods = Idx.__index

-- A dataset of IDX files (MNIST's format), plain or .gz; set[i] is { x = u8 image, y = integer }.
--: images: string, labels: string -> rille.data.Set
function Idx.new(images, labels)
  local x, y = native.idx(images), native.idx(labels)
  if y:dim() ~= 1 then
    fail.argument("idx", "'%s' has %d dims: labels are one number an item", native.shown(labels),
      y:dim())
  end
  if #x ~= #y then fail.argument("idx", "%d images and %d labels", #x, #y) end
  return setmetatable({ images = x, labels = y, count = #x }, Idx)
end

function Idx:collated(positions)
  local ids = {}
  for i, position in ipairs(positions) do ids[i] = position - 1 end
  ids = rille.tensor(ids, { dtype = "i64" })
  return { x = self.images:index_select(1, ids), y = self.labels:index_select(1, ids):to("i64") }
end

function Idx:__index(key)
  if math.type(key) ~= "integer" then return methods[key] end
  if key < 1 or key > self.count then
    fail.raise {
      kind = "argument", code = "E_INDEX", op = "idx",
      message = ("position %d is outside 1..%d"):format(key, self.count),
    }
  end
  return { x = self.images[key], y = self.labels[key]:item() }
end

function Idx:__len()
  return self.count
end

return Idx
