-- rille.Function { forward = function(ctx, ...) end, backward = function(ctx, ...) end,
-- cast_inputs, device }: an operation with a gradient of its own. forward runs outside of autograd;
-- backward gets one gradient an output and returns one gradient or nil for each tensor argument.
-- Arguments and results that are saved take part in gradients of the gradients.
-- Under autocast both run in the scope of the call; with cast_inputs, a dtype, forward gets the
-- floats of the device in it and autocast is off.
local native = require "rille.native"
local rille = require "rille"
local check = require "rille.check"
local class = require "rille.class"
local fail = require "rille.fail"
local modes = require "rille.modes"

local Context = class "Context"

function Context:save(...)
  local kept = table.pack(...)
  for i = 1, kept.n do
    if kept[i] ~= nil and not native.is_tensor(kept[i]) then
      fail.raise {
        kind = "argument", code = "E_TYPE", op = "save",
        message = ("argument %d must be a tensor or nil, got %s"):format(i, fail.describe(kept[i])),
        hint = "keep other values in fields: ctx.name = value",
      }
    end
  end
  self.kept = kept
end

-- Where saved-tensor hooks have what was saved, `given` has what they gave back, without the holes.
-- While backward is recorded, results come with their history: `made` has them by their places
-- among the outputs, `places` the places of what was saved.
function Context:saved()
  if not self.kept then return end
  local values, made, next_given = {}, self.made or {}, 0
  for i = 1, self.kept.n do
    local value, place = self.kept[i], self.places[i]
    if self.packed and value then
      next_given = next_given + 1
      value = self.given and self.given[next_given] or nil
    end
    values[i] = place and made[place] or value
  end
  return table.unpack(values, 1, self.kept.n)
end

local function tensors_among(values)
  local list = {}
  for i = 1, values.n do
    if native.is_tensor(values[i]) then list[#list + 1] = values[i] end
  end
  return list
end

-- The outputs in the places of the tensors among them.
local function put_back(outputs, tensors)
  local next_tensor = 0
  for i = 1, outputs.n do
    if native.is_tensor(outputs[i]) then
      next_tensor = next_tensor + 1
      outputs[i] = tensors[next_tensor]
    end
  end
  return outputs
end

local casts = { f32 = true, f16 = true, bf16 = true }

local function kind_of(device) return device:match "^%a+" end

-- The value with its floats on that kind of device in `dtype`, those in its tables too.
local function cast(value, dtype, kind)
  if native.is_tensor(value) then
    local fits = casts[value.dtype] and kind_of(value.device) == kind
    return fits and value:to(dtype) or value
  end
  if type(value) ~= "table" or getmetatable(value) then return value end
  local copy = {}
  for key, part in pairs(value) do copy[key] = cast(part, dtype, kind) end
  return copy
end

local function in_autocast(mode, f, ...)
  return modes.scope_of("Function", { autocast = mode })(f, ...)
end

-- What forward gives, in no_grad.
local function forward(self, ctx, ...)
  local device = self.device or rille.default_device()
  if not self.cast_inputs or not native.autocast_active(device) then
    return modes.no_grad(self.forward, ctx, ...)
  end
  local arguments = table.pack(...)
  return modes.no_grad(function()
    for i = 1, arguments.n do
      arguments[i] = cast(arguments[i], self.cast_inputs, kind_of(device))
    end
    local off = native.autocast_inside { device = device, enabled = false }
    return in_autocast(off, self.forward, ctx, table.unpack(arguments, 1, arguments.n))
  end)
end

local function place_of(tensor, list)
  for i, t in ipairs(list) do
    if rawequal(t, tensor) then return i end
  end
end

-- Which outputs were saved: the place among the outputs of each, by its place among the saved.
local function places_of(kept, inputs, outputs)
  local places = {}
  for i = 1, kept and kept.n or 0 do
    places[i] = kept[i] and not place_of(kept[i], inputs) and place_of(kept[i], outputs)
  end
  return places
end

local function call(self, ...)
  local ctx = setmetatable({ needs = {} }, Context)
  local inputs = tensors_among(table.pack(...))
  for i, t in ipairs(inputs) do ctx.needs[i] = t.requires_grad end
  local outputs = table.pack(forward(self, ctx, ...))
  local mode = not self.cast_inputs and native.mode "autocast" or 0
  local tensors = tensors_among(outputs)
  local results = #tensors
  ctx.places = places_of(ctx.kept, inputs, tensors)
  local function backward(...)
    local given, count = table.pack(...), results
    -- What has a history leads to this function: it is let go of at the end.
    local _ <close> = setmetatable({}, { __close = function() ctx.made, ctx.given = nil, nil end })
    if ctx.packed then
      ctx.given = table.move(given, count + 1, count + ctx.packed, 1, {})
      count = count + ctx.packed
    end
    if given.n > count then ctx.made = table.move(given, count + 1, given.n, 1, {}) end
    if mode == 0 then return self.backward(ctx, table.unpack(given, 1, results)) end
    return in_autocast(mode, self.backward, ctx, table.unpack(given, 1, results))
  end
  local saved = tensors_among(ctx.kept or { n = 0 })
  local recorded = table.pack(native.record(backward, inputs, tensors, saved))
  if table.remove(recorded, 1) then
    ctx.packed = #saved
    for i = 1, ctx.kept.n do ctx.kept[i] = ctx.kept[i] and true end
  end
  outputs = put_back(outputs, recorded)
  return table.unpack(outputs, 1, outputs.n)
end

local Function = { __name = "Function", __call = call }

return function(definition)
  if type(definition) ~= "table" then fail.type("Function", "definition", "a table", definition) end
  for _, name in ipairs { "forward", "backward" } do
    if type(definition[name]) ~= "function" then
      fail.type("Function", name, "a function", definition[name])
    end
  end
  for _, name in ipairs { "cast_inputs", "device" } do
    if definition[name] ~= nil then
      check("Function", name, definition[name], { type = "string" })
    end
  end
  return setmetatable({
    forward = definition.forward, backward = definition.backward,
    cast_inputs = definition.cast_inputs, device = definition.device,
  }, Function)
end
