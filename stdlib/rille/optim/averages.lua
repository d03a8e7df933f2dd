-- Averages of a model's parameters: optim.EMA (exponential) and optim.SWA (equal weights).
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"
local fail = require "rille.fail"
local lasting = require "rille.scope".lasting
local is_module = require "rille.nn.module".is_module
local read_options = require "rille.options"

local Average = class "Average"

local function make(name, model, options)
  local self = setmetatable({ name = name, model = model, count = 0, average = {} }, Average)
  self.options = options
  if not is_module(model) then fail.type(name, "model", "a module", model) end
  for key, p in model:named_parameters() do self.average[key] = p:detach():clone() end
  return self
end

-- The part of the present parameters in the new average. EMA's decay rises at first, so that the
-- start counts for little: min(decay, (1 + n) / (10 + n)).
local function share(self)
  local decay = self.options.decay
  if not decay then return 1 / (self.count + 1) end
  if self.options.warmup then decay = math.min(decay, (1 + self.count) / (10 + self.count)) end
  return 1 - decay
end

local function update(self)
  local part = share(self)
  local _ <close> = rille.no_grad()
  for key, p in self.model:named_parameters() do self.average[key]:lerp_(p:detach(), part) end
  self.count = self.count + 1
end

function Average:update()
  native.unit(update, self)
end

local function copy_into(model, values)
  local _ <close> = rille.no_grad()
  for key, p in model:named_parameters() do p:copy_(values[key]) end
end

local function write(model, values)
  native.unit(copy_into, model, values)
end

-- Puts the averages into the model until the scope ends (or for the time of f).
function Average:apply(f, ...)
  if f ~= nil then check(self.name .. ".apply", "fn", f, { type = "fun" }) end
  local kept = {}
  for key, p in self.model:named_parameters() do kept[key] = p:detach():clone() end
  write(self.model, self.average)
  local scope = setmetatable({}, { __close = function() write(self.model, kept) end })
  if not f then return scope end
  local _ <close> = scope
  return f(...)
end

function Average:state_dict()
  return { count = self.count, average = self.average }
end

local function check_state(self, state)
  local op = self.name .. ".load_state_dict"
  check(op, "state", state, { type = "table" })
  check(op, "state.count", state.count, { type = "integer", min = 0 })
  check(op, "state.average", state.average, { type = "table" })
  for key, own in pairs(self.average) do
    local value = state.average[key]
    if not native.is_tensor(value) then fail.state(op, "the state has no '%s'", key) end
    local given, wanted = table.concat(value:shape(), ", "), table.concat(own:shape(), ", ")
    if given ~= wanted then
      fail.state(op, "'%s' of the state is [%s], the parameter [%s]", key, given, wanted)
    end
  end
end

local function load(self, state)
  local average = {}
  for key in pairs(self.average) do average[key] = state.average[key]:clone() end
  self.count, self.average = state.count, average
end

function Average:load_state_dict(state)
  check_state(self, state)
  lasting(load, self, state)
end

return {
  -- An average of a model's parameters in which the latest count most: update(), apply([fn]).
  --: model: rille.nn.Module -> table
  EMA = function(model, options)
    local o = read_options("EMA", options, {
      { "decay", 0.999, min = 0, max = 1, doc = "the part of the average that stays" },
      { "warmup", true, doc = "less of it stays at the start" },
    })
    return lasting(make, "EMA", model, o)
  end,
  -- An average of a model's parameters in which all count the same: update(), apply([fn]).
  --: model: rille.nn.Module -> table
  SWA = function(model, options)
    return lasting(make, "SWA", model, read_options("SWA", options, {}))
  end,
}
