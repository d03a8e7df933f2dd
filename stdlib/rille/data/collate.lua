-- Makes one batch of a list of items: tensors are stacked, numbers become a tensor, strings a
-- list, and tables are collated field by field.
local check = require "rille.check"
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"
local read_options = require "rille.options"

local kDeepest = 64  -- tables in tables; one that holds itself has no end

local collate

-- The place of an item in its dataset; of a list that a script made up, its place there.
local function at(positions, i)
  return type(positions) == "table" and math.tointeger(positions[i]) or i
end

local function shape_text(t)
  return "[" .. table.concat(t:shape(), ", ") .. "]"
end

local function stack(list, positions, path)
  local wanted = shape_text(list[1])
  for i, t in ipairs(list) do
    if shape_text(t) ~= wanted then
      fail.raise {
        kind = "shape", code = "E_COLLATE_SHAPE", op = "collate",
        message = ("items %d and %d differ in shape%s: %s and %s"):format(
          at(positions, 1), at(positions, i), path, wanted, shape_text(t)),
        hint = "collate = data.pad_collate { pad = 0 } pads to the longest",
      }
    end
  end
  return rille.stack(list, 1)
end

local function numbers(list)
  local dtype = "i64"
  for _, value in ipairs(list) do
    if math.type(value) ~= "integer" then dtype = rille.default_dtype() end
  end
  return rille.tensor(list, { dtype = dtype })
end

local function kind_of(value)
  return native.is_tensor(value) and "tensor" or type(value)
end

-- Items of two kinds make no batch, nor do those that are not there.
local function check_kinds(list, positions, path)
  local wanted = kind_of(list[1])
  for i = 1, math.max(#list, type(positions) == "table" and #positions or 0) do
    local item = list[i]
    if item == nil then
      fail.argument("collate", "can't make a batch of nil%s (item %d)", path, at(positions, i))
    elseif kind_of(item) ~= wanted then
      fail.argument("collate", "items %d and %d differ in kind%s: %s and %s", at(positions, 1),
        at(positions, i), path, wanted, kind_of(item))
    end
  end
end

local function fields(list, positions, path, pad, depth)
  if depth > kDeepest then
    fail.argument("collate", "item %d has tables more than %d deep", at(positions, 1), kDeepest)
  end
  local batch = {}
  for key in pairs(list[1]) do
    local column = {}
    for i, item in ipairs(list) do column[i] = item[key] end
    if #column < #list then
      fail.argument("collate", "item %d has no '%s'", at(positions, #column + 1), tostring(key))
    end
    batch[key] = collate(column, positions, path .. " in '" .. tostring(key) .. "'", pad, depth)
  end
  return batch
end

-- `pad`, where given, is a function that makes a list of tensors stackable.
function collate(list, positions, path, pad, depth)
  local first, kind = list[1], type(list[1])
  check_kinds(list, positions, path)
  if native.is_tensor(first) then
    return stack(pad and pad(list) or list, positions, path)
  elseif kind == "number" then
    return numbers(list)
  elseif kind == "boolean" then
    return rille.tensor(list, { dtype = "bool" })
  elseif kind == "string" then
    return list
  elseif kind == "table" then
    return fields(list, positions, path, pad, (depth or 0) + 1)
  end
  local first_at = at(positions, 1)
  return fail.argument("collate", "can't make a batch of %s%s (item %d)", kind, path, first_at)
end

local function default(items, positions)
  return collate(items, positions, "")
end

-- Pads tensors at the end of each dim with `pad`, to the longest, or on to a multiple of
-- `multiple_of`.
local function padded(list, o)
  local wanted = {}
  for _, t in ipairs(list) do
    for d, size in ipairs(t:shape()) do wanted[d] = math.max(wanted[d] or 0, size) end
  end
  for d, size in ipairs(wanted) do
    wanted[d] = (size + o.multiple_of - 1) // o.multiple_of * o.multiple_of
  end
  local result = {}
  for i, t in ipairs(list) do
    local whole = rille.full(wanted, o.pad, { dtype = t.dtype, device = t.device })
    local part = whole
    for d, size in ipairs(t:shape()) do part = part:narrow(d, 1, size) end
    part:copy_(t)
    result[i] = whole
  end
  return result
end

-- For a loader's `collate`: tensors of different sizes are padded to the largest.
--: -> fun(items: any[]): any
local function pad_collate(options)
  local o = read_options("pad_collate", options, {
    { "pad", 0, doc = "the value" },
    { "multiple_of", 1, type = "integer", min = 1, doc = "sizes are rounded up to it" },
  })
  local function pad(list) return padded(list, o) end
  return function(items, positions)
    check("pad_collate", "items", items, { type = "table" })
    items = table.move(items, 1, rawlen(items), 1, {})
    if positions == nil then                             -- called by a script, not by a loader
      positions = {}
      for i = 1, #items do positions[i] = i end
    end
    return collate(items, positions, "", pad)
  end
end

return { default = default, pad_collate = pad_collate }
