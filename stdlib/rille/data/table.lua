-- data.table { x = t, y = t }: a dataset of columns, tensors or lists; set[i] is { x = ..., y =
-- ... }.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"
local fail = require "rille.fail"

local Table = class "data.table"
local methods = Table.__index

-- A dataset of columns, tensors or lists; set[i] has a field for each.
--: columns: table<string, rille.Tensor|any[]> -> rille.data.Set
function Table.new(columns)
  if type(columns) ~= "table" then fail.type("table", "columns", "a table of columns", columns) end
  local count, first
  local names = {}
  for name in pairs(columns) do names[#names + 1] = name end
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
  for _, name in ipairs(names) do
    if type(columns[name]) ~= "table" and not native.is_tensor(columns[name]) then
      fail.type("table", tostring(name), "a tensor or a list", columns[name])
    end
    local size = #columns[name]
    if count and size ~= count then
      fail.argument("table", "columns differ in length: '%s' has %d, '%s' has %d", first, count,
        tostring(name), size)
    end
    count, first = count or size, first or tostring(name)
  end
  if not count then fail.argument("table", "needs a column or more") end
  return setmetatable({ columns = columns, count = count }, Table)
end

function Table:item(position)
  if math.type(position) ~= "integer" then
    position = check("table.item", "position", position, { type = "integer" })
  end
  local item = {}
  for name, column in pairs(self.columns) do item[name] = column[position] end
  return item
end

-- A whole batch at once, the same as the items one by one and collated.
function Table:collated(positions)
  check("table.collated", "positions", positions, { type = "table" })
  local ids
  local batch = {}
  for name, column in pairs(self.columns) do
    if not native.is_tensor(column) then return nil end
    if not ids then
      ids = {}
      for i, position in ipairs(positions) do
        ids[i] = (math.tointeger(position) or fail.type("table.collated", "positions[" .. i .. "]",
          "an integer", position)) - 1
      end
      ids = rille.tensor(ids, { dtype = "i64" })
    end
    batch[name] = column:index_select(1, ids:to(column.device))
  end
  return batch
end

function Table:__index(key)
  if math.type(key) ~= "integer" then return methods[key] end
  if key < 1 or key > self.count then
    fail.raise {
      kind = "argument", code = "E_INDEX", op = "table",
      message = ("position %d is outside 1..%d"):format(key, self.count),
    }
  end
  return self:item(key)
end

function Table:__len()
  return self.count
end

return Table
