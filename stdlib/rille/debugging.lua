-- rille.debugging: gradients against finite differences, and the search for where a nan began.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local fail = require "rille.fail"
local read_only = require "rille.read_only"
local modes = require "rille.modes"
local read_options = require "rille.options"

local debugging = { detect_anomaly = modes.detect_anomaly }

local known = {
  { "eps", 1e-6 }, { "atol", 1e-5 }, { "rtol", 1e-3 }, { "nondet_tol", 0.0 }, { "fast", false },
}

-- The inputs as a plain list, whose ends # and ipairs agree on; those that require a gradient are
-- checked.
local function inputs_of(op, inputs)
  check(op, "inputs", inputs, { type = "rille.Tensor|table" })
  if native.is_tensor(inputs) then inputs = { inputs } end
  local list, checked = {}, 0
  for i = 1, #inputs do
    local t = inputs[i]
    list[i] = t
    if not native.is_tensor(t) then fail.type(op, "inputs[" .. i .. "]", "a tensor", t) end
    if t.requires_grad then
      checked = checked + 1
      if t.dtype ~= "f64" then
        fail.raise {
          kind = "dtype", code = "E_DTYPE", op = op,
          message = ("input %d must be f64, got %s"):format(i, t.dtype),
          hint = "in f32 the rounding of a difference is as large as the tolerance",
        }
      end
    end
  end
  if checked == 0 then fail.argument(op, "no input requires a gradient") end
  return list
end

-- Zeros in the shape of t, but `value` at element k (row-major).
local function single(t, k, value)
  local values = {}
  for i = 1, t:numel() do values[i] = i == k and value or 0.0 end
  return rille.tensor(values, { dtype = "f64" }):view(t:shape())
end

-- What f gives, as a list of its float tensors.
local function outputs_of(f, inputs)
  local list = {}
  for _, value in ipairs { f(table.unpack(inputs)) } do
    if native.is_tensor(value) and value.dtype:match "^b?f" then list[#list + 1] = value end
  end
  return list
end

local function flat_values(outputs)
  local values = {}
  for _, t in ipairs(outputs) do
    for _, v in ipairs(t:detach():contiguous():view(-1):tolist()) do values[#values + 1] = v end
  end
  return values
end

-- Column k of the Jacobian by central differences: how all outputs move with element k of input i.
local function numeric_column(f, inputs, i, k, eps)
  local function moved(step)
    local copy = table.move(inputs, 1, #inputs, 1, {})
    copy[i] = (inputs[i]:detach() + single(inputs[i], k, step)):requires_grad_()
    return flat_values(outputs_of(f, copy))
  end
  local high, low, column = moved(eps), moved(-eps), {}
  for j = 1, #high do column[j] = (high[j] - low[j]) / (2 * eps) end
  return column
end

-- Rows of the Jacobian by backward: rows[j][i] is the gradient of output element j for input i.
local function analytic_rows(f, inputs)
  local outputs, rows, wanted = outputs_of(f, inputs), {}, {}
  for i, t in ipairs(inputs) do
    if t.requires_grad then wanted[#wanted + 1] = { i, t } end
  end
  local leaves = {}
  for n, entry in ipairs(wanted) do leaves[n] = entry[2] end
  for _, y in ipairs(outputs) do
    for k = 1, y:numel() do
      local row = {}
      if y.requires_grad then
        local grads = table.pack(rille.grad(y, leaves, {
          grad_outputs = single(y, k, 1.0), retain_graph = true, allow_unused = true,
        }))
        for n, entry in ipairs(wanted) do
          row[entry[1]] = grads[n] and flat_values { grads[n] }
        end
      end
      rows[#rows + 1] = row
    end
  end
  return rows
end

local function differ(got, wanted, atol, rtol)
  local close = math.abs(got - wanted) <= atol + rtol * math.abs(wanted)
  return not close and got ~= wanted
end

local message = "output element %d, input %d, element %d: backward gives %.9g, differences %.9g"

-- Values between -1 and 1 in the shape of t, the same for each `salt`: a projection that leaves the
-- script's random numbers alone.
local function projection(t, salt)
  local values = {}
  for k = 1, t:numel() do
    local x = 43758.5453 * math.sin(12.9898 * k + 78.233 * salt)
    values[k] = 2 * (x - math.floor(x)) - 1
  end
  return rille.tensor(values, { dtype = "f64" }):view(t:shape())
end

-- The outputs as one number: each in the direction of its projection.
local function projected(outputs)
  local sum = rille.zeros({ dtype = "f64" })
  for n, y in ipairs(outputs) do sum = sum + (y * projection(y, n)):sum() end
  return sum
end

-- One number an input instead of its Jacobian: what the projected outputs change by in a direction
-- of it. Errors of elements add up, so what is allowed of one is allowed of their sum.
local function check_fast(f, inputs, o)
  local outputs, weight = outputs_of(f, inputs), 0.0
  for n, y in ipairs(outputs) do weight = weight + projection(y, n):abs():sum():item() end
  local total = projected(outputs)
  for i, t in ipairs(inputs) do
    if t.requires_grad then
      local direction = projection(t, -i)
      local function along(sum)
        local gradient = sum.requires_grad
          and rille.grad(sum, t, { retain_graph = true, allow_unused = true })
        return gradient and (gradient * direction):sum():item() or 0.0
      end
      local function moved(step)
        local copy = table.move(inputs, 1, #inputs, 1, {})
        copy[i] = (t:detach() + direction * step):requires_grad_()
        return projected(outputs_of(f, copy)):item()
      end
      local got, again = along(total), along(projected(outputs_of(f, inputs)))
      local change = modes.no_grad(function() return moved(o.eps) - moved(-o.eps) end)
      local wanted = change / (2 * o.eps)
      if differ(got, wanted, o.atol * weight * direction:abs():sum():item(), o.rtol) then
        return false, ("input %d, in a direction: backward gives %.9g, differences %.9g"):format(
          i, got, wanted)
      elseif differ(got, again, o.nondet_tol, 0) then
        return false, ("two runs of backward differ for input %d"):format(i)
      end
    end
  end
  return true
end

-- True, or false and where the first difference is. f takes the inputs (a tensor or a list) and
-- gives tensors. `fast` compares one projection of the Jacobian instead of all its elements.
function debugging.gradcheck(f, inputs, options)
  local o = read_options("gradcheck", options, known)
  check("gradcheck", "f", f, { type = "fun" })
  inputs = inputs_of("gradcheck", inputs)
  if o.fast then return check_fast(f, inputs, o) end
  local rows, again = analytic_rows(f, inputs), analytic_rows(f, inputs)
  for i, t in ipairs(inputs) do
    for k = 1, t.requires_grad and t:numel() or 0 do
      local column = modes.no_grad(numeric_column, f, inputs, i, k, o.eps)
      for j, wanted in ipairs(column) do
        local got = rows[j][i] and rows[j][i][k] or 0.0
        if differ(got, wanted, o.atol, o.rtol) then
          return false, message:format(j, i, k, got, wanted)
        elseif differ(got, again[j][i] and again[j][i][k] or 0.0, o.nondet_tol, 0) then
          return false, ("two runs of backward differ for input %d, element %d"):format(i, k)
        end
      end
    end
  end
  return true
end

-- The same for the gradients of f, as functions of the inputs and of the gradients that come in.
function debugging.gradgradcheck(f, inputs, options)
  check("gradgradcheck", "f", f, { type = "fun" })
  inputs = inputs_of("gradgradcheck", inputs)
  local all, count = table.move(inputs, 1, #inputs, 1, {}), #inputs
  for n, y in ipairs(outputs_of(f, inputs)) do
    local values = {}
    for k = 1, y:numel() do values[k] = math.cos(1.7 * k + n) end
    local seed = rille.tensor(values, { dtype = "f64" }):view(y:shape())
    all[count + n] = seed:requires_grad_()
  end
  local function gradients(...)
    local given = { ... }
    local own = table.move(given, 1, count, 1, {})
    local seeds = table.move(given, count + 1, #given, 1, {})
    local leaves = {}
    for _, t in ipairs(own) do
      if t.requires_grad then leaves[#leaves + 1] = t end
    end
    return modes.enable_grad(function()
      return rille.grad(outputs_of(f, own), leaves, {
        grad_outputs = seeds, create_graph = true, allow_unused = true,
      })
    end)
  end
  return debugging.gradcheck(gradients, all, options)
end

return read_only("rille.debugging", debugging)
