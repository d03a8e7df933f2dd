-- state_dict and load_state_dict: tensors by dotted name. Tied parameters are saved once, under
-- their first name, and found again under any of their names; every mistake of a load is told in
-- one error.
local rille = require "rille"
local native = require "rille.native"
local fail = require "rille.fail"
local nearest = require "rille.nearest"
local read_options = require "rille.options"
local module = require "rille.nn.module"
local walk = require "rille.nn.walk"
local Module = module.Module

-- Children that are numbered count from 1 here and from 0 in PyTorch.
local function torch_name(name)
  return (name:gsub("%f[^.\0]%d+%f[.\0]", function(n) return ("%d"):format(n - 1) end))
end

-- The entries of a module in order: { name, tensor, aliases = { other names of the same tensor } }.
local function entries(self, options)
  local list, by_tensor = {}, {}
  local style = options.names
  local function add(prefix, name, t)
    local full = walk.join(prefix, name)
    if style == "torch" then full = torch_name(full) end
    local entry = by_tensor[t]
    if entry then
      entry.aliases[#entry.aliases + 1] = full
    else
      entry = { name = full, tensor = t, aliases = {} }
      by_tensor[t], list[#list + 1] = entry, entry
    end
  end
  -- Shared modules are visited under each of their names: those are the aliases.
  local function visit(part, prefix, above)
    if above[part] then return end
    above[part] = true
    for name, t in part:own_tensors "parameter" do add(prefix, name, t) end
    for name, t, buffer in part:own_tensors "buffer" do
      if buffer.persistent then add(prefix, name, t) end
    end
    for name, child in part:named_children() do visit(child, walk.join(prefix, name), above) end
    above[part] = nil
  end
  visit(self, "", {})
  return list
end

local known_options = {
  { "strict", true, doc = "names that are missing or unexpected are an error" },
  { "names", "rille", type = '"rille"|"torch"', doc = "torch: members count from 0" },
}

local function checked(op, read)
  if read.names ~= "rille" and read.names ~= "torch" then
    fail.argument(op, "'names' must be 'rille' or 'torch', got '%s'", read.names)
  end
  return read
end

-- Parameters and buffers by name.
--: -> table<string, rille.Tensor>
function Module:state_dict(options)
  local read = checked("state_dict", read_options("state_dict", options, known_options))
  local dict = {}
  for _, entry in ipairs(entries(self, read)) do
    dict[entry.name] = entry.tensor:detach()
  end
  return dict
end

-- Files may give nested tables; names are their paths.
local function flatten(given, prefix, flat, above)
  above = above or {}
  if above[given] then fail.argument("load_state_dict", "'dict' holds itself, at '%s'", prefix) end
  above[given] = true
  for key, value in pairs(given) do
    local name = walk.join(prefix, tostring(key))
    if native.is_tensor(value) then
      flat[name] = value
    elseif type(value) == "table" then
      flatten(value, name, flat, above)
    end
  end
  above[given] = nil
  return flat
end

local function shape_text(t)
  return "[" .. table.concat(t:shape(), ", ") .. "]"
end

-- Pairs of (own tensor, given tensor), and the lists of what doesn't fit.
local function match(list, flat)
  local pairs_found, used = {}, {}
  local wrong = { missing = {}, unexpected = {}, shapes = {} }
  for _, entry in ipairs(list) do
    local value = flat[entry.name]
    used[entry.name] = true
    for _, alias in ipairs(entry.aliases) do
      value = value or flat[alias]
      used[alias] = true
    end
    if not value then
      table.insert(wrong.missing, entry.name)
    elseif shape_text(value) ~= shape_text(entry.tensor) then
      local own, given = shape_text(entry.tensor), shape_text(value)
      local text = ("%s: is %s, the file has %s"):format(native.shown(entry.name), own, given)
      table.insert(wrong.shapes, text)
    else
      table.insert(pairs_found, { entry.tensor, value })
    end
  end
  for name in pairs(flat) do
    if not used[name] then table.insert(wrong.unexpected, name) end
  end
  table.sort(wrong.unexpected)
  return pairs_found, wrong
end

local function report(self, wrong)
  local facts = {}
  for _, name in ipairs(wrong.missing) do
    local guess = nearest(name, wrong.unexpected)
    local hint = guess and (" (the file has '%s')"):format(native.shown(guess)) or ""
    facts[#facts + 1] = ("missing      %s%s"):format(native.shown(name), hint)
  end
  for _, name in ipairs(wrong.unexpected) do
    facts[#facts + 1] = "unexpected   " .. native.shown(name)
  end
  for _, text in ipairs(wrong.shapes) do facts[#facts + 1] = "shape        " .. text end
  local counts = ("%d missing, %d unexpected, %d of another shape"):format(
    #wrong.missing, #wrong.unexpected, #wrong.shapes)
  fail.raise {
    kind = "state", code = "E_STATE", op = "load_state_dict", facts = facts,
    message = ("%s: %s"):format(module.class_of(self).__name, counts),
    hint = #wrong.shapes == 0 and "{ strict = false } loads what fits" or nil,
  }
end

local function copy_all(found)
  local _ <close> = rille.no_grad()
  for _, pair in ipairs(found) do pair[1]:copy_(pair[2]) end
end

-- Returns the lists of missing and unexpected names (empty when strict).
--: dict: table -> string[], string[]
function Module:load_state_dict(dict, options)
  options = checked("load_state_dict", read_options("load_state_dict", options, known_options))
  if type(dict) ~= "table" then fail.type("load_state_dict", "dict", "a table", dict) end
  local found, wrong = match(entries(self, options), flatten(dict, "", {}))
  local incomplete = #wrong.missing + #wrong.unexpected > 0
  if #wrong.shapes > 0 or (options.strict and incomplete) then report(self, wrong) end
  native.unit(copy_all, found)
  return wrong.missing, wrong.unexpected
end
