-- optim.LBFGS: steps along a quasi-Newton direction from the last `history_size` changes of the
-- gradient (Nocedal, Wright: Numerical Optimization, algorithm 7.4), at a fixed rate or by a
-- strong Wolfe line search (algorithms 3.5 and 3.6). step(closure) needs the closure, which runs
-- backward and returns the loss.
local rille = require "rille"
local native = require "rille.native"
local check = require "rille.check"
local class = require "rille.class"
local fail = require "rille.fail"
local lasting = require "rille.scope".lasting
local list_of = require "rille.nn.parameter_list"
local read_options = require "rille.options"

local LBFGS = class "LBFGS"

local known = {
  { "lr", 1.0, min = 0, doc = "the first step, and each without a search" },
  { "max_iter", 20, type = "integer", min = 0, doc = "directions a step" },
  {
    "max_eval", type = "integer", min = 1,
    doc = "runs of the closure a step; max_iter * 5 // 4 without",
  },
  { "tolerance_grad", 1e-7, min = 0, doc = "no gradient above it: done" },
  { "tolerance_change", 1e-9, min = 0, doc = "no change above it: done" },
  { "history_size", 100, type = "integer", min = 0, doc = "changes of the gradient that are kept" },
  { "line_search", type = '"strong_wolfe"', doc = "the search along a direction" },
}

-- Steps along a quasi-Newton direction from the last changes of the gradient; step(closure) needs
-- the closure.
--: params: rille.Tensor[] -> rille.optim.Optimizer
function LBFGS.new(params, options)
  local o = read_options("LBFGS", options, known)
  params = list_of("LBFGS", params)
  if #params == 0 then fail.argument("LBFGS", "the list of parameters is empty") end
  local group = { params = params, lr = o.lr }
  o.max_eval = o.max_eval or o.max_iter * 5 // 4
  return setmetatable({
    name = "LBFGS", options = o, groups = { group }, step_count = 0, state = { s = {}, y = {} },
  }, LBFGS)
end

function LBFGS:zero_grad()
  for _, p in ipairs(self.groups[1].params) do p.grad = nil end
end

local function flat_grad(self)
  local parts = {}
  for i, p in ipairs(self.groups[1].params) do
    parts[i] = p.grad and p.grad:flatten() or rille.zeros(p:numel(), { dtype = p.dtype })
  end
  return rille.cat(parts, 1)
end

-- Moves the parameters by t times the direction, all of them (native.unit).
local function move(self, t, direction)
  local _ <close> = rille.no_grad()
  local first = 1
  for _, p in ipairs(self.groups[1].params) do
    local n = p:numel()
    p:add_(direction:narrow(1, first, n):view(p:shape()) * t)
    first = first + n
  end
end

-- Minus the approximate inverse Hessian times the gradient: the two-loop recursion.
local function direction_of(state, grad)
  local q, alphas, n = grad:neg(), {}, #state.s
  for i = n, 1, -1 do
    alphas[i] = state.s[i]:dot(q):item() / state.y[i]:dot(state.s[i]):item()
    q = q - state.y[i] * alphas[i]
  end
  if n > 0 then
    q = q * (state.y[n]:dot(state.s[n]):item() / state.y[n]:dot(state.y[n]):item())
  end
  for i = 1, n do
    local beta = state.y[i]:dot(q):item() / state.y[i]:dot(state.s[i]):item()
    q = q + state.s[i] * (alphas[i] - beta)
  end
  return q
end

-- The minimum of the cubic through two points with slopes, within their bounds.
local function cubic(a, b)
  local d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
  local square = d1 * d1 - a.slope * b.slope
  local low, high = math.min(a.t, b.t), math.max(a.t, b.t)
  if square < 0 then return (low + high) / 2 end
  local left, right = a, b
  if a.t > b.t then left, right = b, a end
  local d2 = square ^ 0.5
  local part = (right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2)
  local t = right.t - (right.t - left.t) * part
  local margin = 0.1 * (high - low)
  return math.min(math.max(t, low + margin), high - margin)
end

local c1, c2 = 1e-4, 0.9

-- Narrows the bracket down to a point that satisfies the strong Wolfe conditions.
local function zoom(low, high, start, try, tolerance)
  for _ = 1, 25 do
    local point = try(cubic(low, high))
    if point.loss > start.loss + c1 * point.t * start.slope or point.loss >= low.loss then
      high = point
    else
      if math.abs(point.slope) <= -c2 * start.slope then return point end
      if point.slope * (high.t - low.t) >= 0 then high = low end
      low = point
    end
    if math.abs(high.t - low.t) * math.abs(start.slope) < tolerance then break end
  end
  return low
end

local function line_search(start, first, try, tolerance)
  local before, t = start, first
  for i = 1, 25 do
    local point = try(t)
    local worse = i > 1 and point.loss >= before.loss
    if point.loss > start.loss + c1 * t * start.slope or worse then
      return zoom(before, point, start, try, tolerance)
    end
    if math.abs(point.slope) <= -c2 * start.slope then return point end
    if point.slope >= 0 then return zoom(point, before, start, try, tolerance) end
    before, t = point, t * 2
  end
  return before
end

-- Remembers one change of place and gradient, where the curvature is positive.
local function remember(self, s, y)
  if y:dot(s):item() <= 1e-10 then return end
  local state = self.state
  table.insert(state.s, s)
  table.insert(state.y, y)
  if #state.s > self.options.history_size then
    table.remove(state.s, 1)
    table.remove(state.y, 1)
  end
end

-- Losses and slopes along a direction, measured from where the parameters are; the last point
-- tried is where they are left, so the caller moves on from it.
local function prober(self, evaluate, direction)
  local at = 0
  local function go(t)
    native.unit(move, self, t - at, direction)
    at = t
  end
  local function try(t)
    go(t)
    local loss, grad = evaluate()
    return { t = t, loss = loss, grad = grad, slope = grad:dot(direction):item() }
  end
  return try, go
end

local function iterate(self, evaluate, loss, grad)
  local o = self.options
  local direction = direction_of(self.state, grad)
  local slope = grad:dot(direction):item()
  if slope > -o.tolerance_change then return nil end
  local lr = self.groups[1].lr
  local first = #self.state.s > 0 and lr or math.min(1, 1 / grad:abs():sum():item()) * lr
  local try, go = prober(self, evaluate, direction)
  local point
  if o.line_search then
    local start = { t = 0, loss = loss, grad = grad, slope = slope }
    point = line_search(start, first, try, o.tolerance_change)
    go(point.t)
  else
    point = try(first)
  end
  remember(self, direction * point.t, point.grad - grad)
  return point, (direction * point.t):abs():max():item()
end

local function step(self, closure)
  check("LBFGS.step", "closure", closure, { type = "fun" })
  local o, evaluations = self.options, 0
  local function evaluate()
    evaluations = evaluations + 1
    local loss = rille.enable_grad(closure)
    check("LBFGS.step", "closure()", loss, { type = "number|rille.Tensor" })
    return type(loss) == "number" and loss or loss:item(), flat_grad(self)
  end
  local loss, grad = evaluate()
  local first = loss
  for _ = 1, o.max_iter do
    if grad:abs():max():item() <= o.tolerance_grad or evaluations >= o.max_eval then break end
    local point, moved = iterate(self, evaluate, loss, grad)
    if not point then break end
    local change = math.abs(point.loss - loss)
    loss, grad = point.loss, point.grad
    if moved <= o.tolerance_change or change < o.tolerance_change then break end
  end
  self.step_count = self.step_count + 1
  return first
end

-- Returns the loss of before the step.
function LBFGS:step(closure)
  return lasting(step, self, closure)
end

function LBFGS:state_dict()
  return {
    kind = "LBFGS", step_count = self.step_count, lr = self.groups[1].lr,
    s = self.state.s, y = self.state.y,
  }
end

local function check_state(dict)
  local op = "LBFGS.load_state_dict"
  check(op, "state", dict, { type = "table" })
  if dict.kind ~= "LBFGS" then
    fail.state(op, "the state is of %s", native.shown(tostring(dict.kind)))
  end
  for _, name in ipairs { "s", "y" } do
    if type(dict[name]) ~= "table" then fail.state(op, "the state has no '%s'", name) end
    list_of(op, dict[name])
  end
  if #dict.s ~= #dict.y then fail.state(op, "'s' and 'y' differ in length") end
  check(op, "state.step_count", dict.step_count, { type = "integer", min = 0 })
  if dict.lr ~= nil then check(op, "state.lr", dict.lr, { type = "number", min = 0 }) end
end

function LBFGS:load_state_dict(dict)
  check_state(dict)
  self.step_count, self.state = dict.step_count, { s = dict.s, y = dict.y }
  self.groups[1].lr = dict.lr or self.groups[1].lr       -- older states have none
end

return { LBFGS = LBFGS.new }
