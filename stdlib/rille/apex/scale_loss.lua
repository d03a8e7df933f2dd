-- amp.scale_loss(loss, optimizers, options): a scope in which the loss is multiplied by its scale.
--   do
--     local scaled <close> = amp.scale_loss(loss, optimizer)
--     scaled:backward()
--   end
-- As it ends, the gradients of the optimizers are divided by the scale and checked, and the scale
-- follows; after an overflow the next step of each optimizer is left out.
local native = require "rille.native"
local class = require "rille.class"
local fail = require "rille.fail"
local read_options = require "rille.options"
local state = require "rille.apex.state"
local stepping = require "rille.apex.stepping"

local op = "scale_loss"

local known = {
  { "loss_id", 0, type = "integer", min = 0, doc = "the loss's number, counted from 0" },
  { "delay_unscale", false, doc = "the gradients stay scaled: another backward follows" },
  { "delay_overflow_check", false, doc = "the scale stays and no step is left out" },
}

local ScaledLoss = class "ScaledLoss"

-- Backward of the scaled loss.
function ScaledLoss:backward(...)
  return self.loss:backward(...)
end

local function fail_uninitialised(message)
  fail.raise {
    kind = "state", code = "E_APEX_NOT_INIT", op = op, message = message,
    hint = 'first model, optimizer = amp.initialize(model, optimizer, { opt_level = "O1" })',
  }
end

local function list_of(optimizers)
  if type(optimizers) ~= "table" then
    fail.type(op, "optimizers", "an optimizer or a list of optimizers", optimizers)
  end
  local list = rawget(optimizers, "groups") and { optimizers } or optimizers
  for _, optimizer in ipairs(list) do
    if not state.optimizers[optimizer] then
      fail_uninitialised "the optimizer was not given to amp.initialize"
    end
  end
  return list
end

-- Backward adds to gradients, and those that are there are unscaled already: they stand aside.
local function set_aside(optimizer, record)
  record.aside = {}
  for t in stepping.each_param(optimizer) do
    local grad = t.grad
    if grad then
      record.aside[t] = grad
      t.grad = nil
    end
  end
end

-- Divides what backward left by the scale, and adds what stood aside. Returns whether all of what
-- backward left was finite.
local function unscale(optimizer, record, scale)
  local entries = {}
  for t in stepping.each_param(optimizer) do
    entries[#entries + 1] = { param = t, aside = record.aside and record.aside[t] or nil }
  end
  record.aside, record.scaled = nil, false
  return native.unscale_gradients(entries, 1 / scale)
end

local function finish(self)
  local overflow = false
  for _, optimizer in ipairs(self.optimizers) do
    local record = state.optimizers[optimizer]
    if self.options.delay_unscale then
      record.scaled = true
    elseif not unscale(optimizer, record, self.scaler.scale) then
      overflow = true
    end
  end
  if self.options.delay_unscale or self.options.delay_overflow_check then return end
  if not self.scaler:update(overflow) then return end
  for _, optimizer in ipairs(self.optimizers) do
    state.optimizers[optimizer].skip = { loss_id = self.options.loss_id, scale = self.scaler.scale }
  end
end

-- An error inside leaves gradients and scale as they are.
function ScaledLoss:__close(err)
  if self.ended then return end
  self.ended = true
  for _, optimizer in ipairs(self.optimizers) do state.optimizers[optimizer].open = nil end
  if state.casts then native.forget_casts() end
  if err == nil and self.scaler then finish(self) end
end

local function line_of_caller()
  local info = debug.getinfo(4, "Sl")
  return info and ("%s:%d"):format(info.short_src, info.currentline) or "?"
end

local function begin(loss, optimizers, o)
  if not state.properties then fail_uninitialised "amp.initialize was not called yet" end
  if not native.is_tensor(loss) then fail.type(op, "loss", "a tensor", loss) end
  local self = setmetatable({ options = o, optimizers = {}, loss = loss }, ScaledLoss)
  if not state.properties.enabled then return self end
  self.optimizers = list_of(optimizers)
  local scaler = state.scalers[o.loss_id + 1]
  if not scaler then
    fail.argument(op, "there is no loss %d: num_losses made %d", o.loss_id, #state.scalers)
  end
  self.loss = loss.dtype == "f64" and loss or loss:to "f32"
  local plain = not state.properties.master_weights and not scaler.dynamic and scaler.scale == 1
  if plain then return self end
  self.scaler = scaler
  local where = line_of_caller()
  for _, optimizer in ipairs(self.optimizers) do
    local record = state.optimizers[optimizer]
    record.open = where
    optimizer.scaled = true                              -- small gradients are looked after
    if not o.delay_unscale and not record.scaled then set_aside(optimizer, record) end
  end
  self.loss = native.scaled_loss(self.loss, scaler.scale)
  return self
end

-- A scope object with the scaled loss in `loss` and a method `backward`; with a function that
-- runs, gets it, and has its results returned.
--: loss: rille.Tensor, optimizers: table, options?: table, fn?: fun(scaled: table): any -> any
return function(loss, optimizers, options, fn, ...)
  if type(options) == "function" then
    local scaled <close> = begin(loss, optimizers, read_options(op, {}, known))
    return options(scaled, fn, ...)
  end
  local o = read_options(op, options, known)
  if fn == nil then
    local scaled = begin(loss, optimizers, o)            -- no tail call: the line is this caller's
    return scaled
  end
  local scaled <close> = begin(loss, optimizers, o)
  return fn(scaled, ...)
end
