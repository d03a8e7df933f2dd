-- Classes of modules: fields that are parameters, buffers or modules are found in the order in
-- which they were first set. A module is a plain table (fields read and write at full speed); what
-- the engine needs to know about it sits under one private key.
local native = require "rille.native"
local check = require "rille.check"
local fail = require "rille.fail"
local lasting = require "rille.scope".lasting
local parameter = require "rille.parameter"

local function STATE() end            -- the private key: nothing can be put into a function
local instance_metatables = {}        -- metatable -> class

local Module = { __name = "Module" }
local metatable_of = {}               -- class -> metatable of its instances

local function is_module(value)
  return type(value) == "table" and instance_metatables[getmetatable(value) or false] ~= nil
end

-- What a module keeps about itself. A class has nothing of the kind.
local function state_of(self)
  local state = type(self) == "table" and rawget(self, STATE)
  if not state then fail.type("module", "self", "a module", self) end
  return state
end

-- Fires when a field is set that the table doesn't hold. A name keeps its place when it was set
-- before, so a parameter that was taken away and comes back is where it was.
local function remember(self, key, value)
  if value == nil then return end
  local state = rawget(self, STATE)
  if not state.placed[key] then
    state.placed[key] = true
    state.order[#state.order + 1] = key
  end
  rawset(self, key, value)
end

local function call(self, ...)
  if rawget(self, STATE).hooks then return require "rille.nn.hooks".call(self, ...) end
  return self:forward(...)
end

local computed = {}

function computed.call(self)
  return function(...) return call(self, ...) end
end

function computed.device(self)
  local t = self:parameters()[1] or self:buffers()[1]
  return t and t.device or require "rille".default_device()
end

-- What instances of a class answer to: its functions, and those of the classes it is made from.
local function methods_of(class)
  local names = {}
  while class do
    for name in next, class do names[#names + 1] = name end
    class = getmetatable(class) and getmetatable(class).__index
  end
  return names
end

local function instance_metatable(class)
  local metatable = {
    __name = class.__name, __newindex = remember, __call = call, __len = class.__len,
    __index = function(self, key)
      local value = class[key]
      if value == nil and computed[key] then return computed[key](self) end
      return value
    end,
    names = function() return methods_of(class) end,     -- for completion
    __pairs = function(self) return self:fields() end,
    __tostring = function(self) return require "rille.nn.tree"(self) end,
  }
  instance_metatables[metatable] = class
  metatable_of[class] = metatable
  return metatable
end

local function construct(class, ...)
  local state = { order = {}, placed = {}, buffers = {} }
  local fields = { [STATE] = state, training = true }
  local self = setmetatable(fields, metatable_of[class] or instance_metatable(class))
  if native.rehearsed() then
    require "rille.rehearsal".on_meta(lasting, class.init, self, ...)
  else
    lasting(class.init, self, ...) -- a model outlives a scope that it is made in
  end
  return self
end

-- A class: functions set in it are the methods of its instances; calling it makes one.
local function define(name, base)
  if type(name) ~= "string" then fail.type("module", "name", "a string", name) end
  if base ~= nil and not (type(base) == "table" and type(base.init) == "function") then
    fail.type("module", "base", "a class", base)         -- in the sandbox it is a look at one
  end
  return setmetatable({ __name = name }, {
    __index = base or Module, __call = construct,
    __tostring = function() return "class " .. name end,
  })
end

local function is_class(value)
  return type(value) == "table" and (getmetatable(value) or {}).__call == construct
end

function Module.init() end

--: -> any
function Module:forward()
  fail.state(self.__name, "has no forward")
end

-- A tensor that is saved and moved with the module but not trained; { persistent = false } isn't
-- saved.
--: name: string, t: rille.Tensor|nil -> rille.Tensor|nil
function Module:buffer(name, t, options)
  if t ~= nil and not native.is_tensor(t) then fail.type("buffer", name, "a tensor", t) end
  check("buffer", "name", name, { type = "string|integer" })
  if options ~= nil then check("buffer", "options", options, { type = "table" }) end
  local state = state_of(self)
  state.buffers[name] = { persistent = not (options and options.persistent == false) }
  self[name] = t
  return t
end

-- Iterates names and values of what was set, in order.
--: -> (fun(): string, any)
function Module:fields()
  local order, i = state_of(self).order, 0
  return function()
    local value
    repeat
      i = i + 1
      if order[i] == nil then return nil end
      value = rawget(self, order[i])
    until value ~= nil
    return order[i], value
  end
end

-- Iterates names and child modules.
--: -> (fun(): string, rille.nn.Module)
function Module:named_children()
  local next_field = self:fields()
  return function()
    for name, value in next_field do
      if is_module(value) then return tostring(name), value end
    end
  end
end

-- Iterates names and tensors of this module alone: kind is "parameter" or "buffer".
--: kind: "parameter"|"buffer" -> (fun(): string, rille.Tensor)
function Module:own_tensors(kind)
  local next_field, buffers = self:fields(), state_of(self).buffers
  return function()
    for name, value in next_field do
      local wanted
      if kind == "parameter" then
        wanted = parameter.is(value) and not buffers[name]
      else
        wanted = buffers[name] and native.is_tensor(value)
      end
      if wanted then return tostring(name), value, buffers[name] end
    end
  end
end

-- An instance becomes one of another class; what it holds stays.
local function become(instance, class)
  return setmetatable(instance, metatable_of[class] or instance_metatable(class))
end

return {
  Module = Module, define = define, is_module = is_module, is_class = is_class,
  STATE = STATE, become = become,
  class_of = function(module) return instance_metatables[getmetatable(module)] end,
  state = state_of,
}
