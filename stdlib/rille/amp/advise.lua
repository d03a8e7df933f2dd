-- amp.advise(fn): runs a pass as it is and under autocast in each dtype, holds time and loss
-- against each other, and says which to use and why.
--   print(amp.advise(function() return rille.cross_entropy(model(x), y) end, { model = model }))
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"
local choose = require "rille.amp.choice"
local fail = require "rille.fail"
local is_module = require "rille.nn.module".is_module
local read_options = require "rille.options"

local op, f16_scale = "advise", 2.0 ^ 12

local known = {
  { "model", type = "table", doc = "times backward, too; gradients and buffers stay as they are" },
  { "dtypes", { "bf16", "f16" }, doc = "to try" },
  { "device", type = "string", doc = "where fn computes; the model's, or the default one without" },
  { "runs", 5, type = "integer", min = 1, doc = "passes that are timed, the median counts" },
  { "tolerance", 0.01, min = 0, doc = "what the loss may be off, as a share of it" },
}

local Advice = class "Advice"

function Advice:__tostring()
  local lines = { "dtype    ms a pass  loss          against f32" }
  for _, row in ipairs(self.rows) do
    local text = ("%-6s  %10s  %-12s  %s"):format(row.dtype,
      row.seconds and ("%.3f"):format(1e3 * row.seconds) or "-",
      row.loss and ("%.6g"):format(row.loss) or "-", row.verdict or "")
    lines[#lines + 1] = text:gsub("%s+$", "")
  end
  lines[#lines + 1] = ("use %s%s: %s"):format(self.dtype,
    self.scaler and " with a GradScaler" or "", self.reason)
  return table.concat(lines, "\n")
end

-- Gradients and buffers of a model, to be put back.
local function remember(model)
  local grads, buffers = {}, {}
  for _, t in ipairs(model and model:parameters() or {}) do
    grads[#grads + 1] = { t, t.grad }
    t.grad = nil
  end
  for _, t in ipairs(model and model:buffers() or {}) do
    buffers[#buffers + 1] = { t, t:clone() }
  end
  return function()
    local _ <close> = rille.no_grad()
    for _, pair in ipairs(grads) do pair[1].grad = pair[2] end
    for _, pair in ipairs(buffers) do pair[1]:copy_(pair[2]) end
  end
end

local function loss_of(fn, scope)
  local _ <close> = rille.amp.autocast(scope)
  local loss = fn()
  if not native.is_tensor(loss) or loss:numel() ~= 1 then
    fail.type(op, "what fn returns", "a tensor of one element", loss)
  end
  return loss
end

-- One pass; returns the loss as a number.
local function pass(fn, model, scope)
  local loss = loss_of(fn, scope)
  if model and loss.requires_grad then
    local narrow = scope.enabled and scope.dtype == "f16"
    local root = narrow and loss:to "f32" * f16_scale or loss
    root:backward()
    for _, t in ipairs(model:parameters()) do t.grad = nil end
  end
  return loss:detach():item()
end

-- Every dtype sees the same random numbers, and the first pass, which sets things up, isn't timed.
local function timed(fn, o, scope)
  local state, times, loss = rille.get_rng_state(), {}, nil
  for run = 0, o.runs do
    rille.set_rng_state(state)
    local start = native.clock()
    loss = pass(fn, o.model, scope)
    if run > 0 then times[run] = native.clock() - start end
  end
  rille.set_rng_state(state)
  table.sort(times)
  return { seconds = times[(#times + 1) // 2], loss = loss }
end

local function row_of(fn, o, device, dtype)
  local there, why = rille.amp.is_available(device, dtype)
  local row
  if there then
    row = timed(fn, o, { device = device, dtype = dtype, enabled = true })
  else
    row = { missing = why or "not there" }
  end
  row.dtype = dtype
  return row
end

-- What to train in: { dtype, scaler, reason, rows }, which print shows as a table. fn runs a pass
-- and returns its loss.
--: fn: fun(): rille.Tensor -> table
return function(fn, options)
  check(op, "fn", fn, { type = "fun" })
  local o = read_options(op, options, known)
  if o.model and not is_module(o.model) then fail.type(op, "model", "a module", o.model) end
  local device = (o.device or o.model and o.model.device or rille.default_device()):match "^%a+"
  local restore = remember(o.model)
  local _ <close> = setmetatable({}, { __close = restore })
  local rows = { timed(fn, o, { device = device, enabled = false }) }
  rows[1].dtype = "f32"
  for _, dtype in ipairs(o.dtypes) do rows[#rows + 1] = row_of(fn, o, device, dtype) end
  local dtype, reason = choose(rows, o.tolerance)
  return setmetatable({
    dtype = dtype, scaler = dtype == "f16" and o.model ~= nil, reason = reason, rows = rows,
  }, Advice)
end
