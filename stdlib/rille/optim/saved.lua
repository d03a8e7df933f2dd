-- Whether the state of a file fits an optimizer: checked whole before anything of it is taken.
local native = require "rille.native"
local check = require "rille.check"
local fail = require "rille.fail"
local read_options = require "rille.options"

local function is_count(value)
  return type(value) == "number" and math.tointeger(value) ~= nil and value >= 0
end

local function shape_text(t)
  return "[" .. table.concat(t:shape(), ", ") .. "]"
end

-- The shape that a state's tensor of that name has: the parameter's, but for scales.
local function shape_of(t, saved, name)
  local codes = saved[name:match "^(.*)_scale$"]
  local scales = native.is_tensor(codes) and native.state_scales(t:numel(), codes.dtype)
  return shape_text(scales or t)
end

-- The state of parameter `t`: its steps, and tensors of its shape, `wanted` among them.
local function check_parameter(op, key, t, saved, wanted)
  key = native.shown(key)
  if type(saved) ~= "table" or not is_count(saved.step) then
    fail.state(op, "the state of '%s' has no step", key)
  end
  for _, name in ipairs(wanted) do
    if saved[name] == nil then fail.state(op, "the state of '%s' has no '%s'", key, name) end
  end
  for name, value in pairs(saved) do
    if name ~= "step" and not (native.is_tensor(value) and value.dtype:match "^b?f") then
      fail.state(op, "'%s' of '%s' is no floating tensor", native.shown(tostring(name)), key)
    elseif name ~= "step" and shape_text(value) ~= shape_of(t, saved, name) then
      fail.state(op, "'%s' of '%s' is %s, not %s as its parameter wants",
        native.shown(tostring(name)), key, shape_text(value), shape_of(t, saved, name))
    end
  end
  for _, name in ipairs(wanted) do
    if native.state_scales(0, saved[name].dtype) and not saved[name .. "_scale"] then
      fail.state(op, "the state of '%s' has no '%s_scale'", key, name)
    end
  end
end

local function check_group(optimizer, op, i, group)
  if type(group) ~= "table" then fail.state(op, "group %d is a %s", i, type(group)) end
  local given = {}
  for _, entry in ipairs(optimizer.known) do given[entry[1]] = group[entry[1]] end
  read_options(op, given, optimizer.known)
end

local saved = {}

-- That it is a state of this kind of optimizer, with as many groups.
function saved.check_outline(optimizer, op, dict)
  check(op, "state", dict, { type = "table" })
  if dict.kind ~= optimizer.name then
    fail.state(op, "the state is of %s", native.shown(tostring(dict.kind)))
  end
  for _, name in ipairs { "groups", "state" } do
    if type(dict[name]) ~= "table" then fail.state(op, "the state has no '%s'", name) end
  end
  if not is_count(dict.step_count) then fail.state(op, "the state has no 'step_count'") end
  if #dict.groups ~= #optimizer.groups then
    fail.state(op, "the state has %d groups, this optimizer %d", #dict.groups, #optimizer.groups)
  end
end

-- That all in it fits the parameters, which `by_key` gives by their names in the state.
function saved.check_parts(optimizer, op, dict, by_key)
  local group_of = {}
  for i, group in ipairs(dict.groups) do
    check_group(optimizer, op, i, group)
    for _, t in ipairs(optimizer.groups[i].params) do group_of[t] = group end
  end
  for key, state in pairs(dict.state) do
    local t = by_key[key]
    check_parameter(op, key, t, state, optimizer.kind.state(group_of[t]))
  end
end

return saved
