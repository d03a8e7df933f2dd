-- Lists of parameters and states of optimizers that are refused, with what words.
local t = require "support.test"
local refused = require "support.refused"
local rille = require "rille"
local nn, optim = rille.nn, rille.optim

local model = nn.Linear(2, 2)

refused("lists of parameters", {
  { function() nn.clip_grad_norm_(model, 1) end, "E_TYPE",
    "'params' must be a list of tensors, got a module" },
  { function() nn.clip_grad_norm_(model:parameters(), -1) end, "E_ARG",
    "'max' must be at least 0, got -1" },
  { function() nn.clip_grad_norm_({ 5 }, 1) end, "E_TYPE", "'params[1]' must be a tensor, got 5" },
  { function() nn.clip_grad_value_(model:parameters(), "x") end, "E_TYPE",
    "'max' must be a number, got string 'x'" },
  { function() nn.utils.vector_to_parameters(rille.zeros(5), model:parameters()) end, "E_SHAPE",
    "needs a vector of 6 values, got [5]" },
  { function() nn.utils.weight_norm(model, { name = "wieght" }) end, "E_ARG",
    "the module has no weight 'wieght'" },
  { function() optim.SGD(model) end, "E_TYPE",
    "'params' must be a list of tensors or groups, got a module" },
  { function() optim.SGD { rille.zeros(2, { dtype = "i64" }) } end, "E_DTYPE",
    "params[1] must be of a floating dtype, got i64" },
  { function() optim.Adam(model:parameters(), { betas = { 0.9, "x" } }) end, "E_TYPE",
    "'betas[2]' must be a number, got string 'x'" },
  { function() optim.Adam(model:parameters(), { betas = { 0.9 } }) end, "E_ARG",
    "'betas' must be two numbers, got 1" },
})

t.test("a module in place of its parameters is answered with a hint", function()
  t.error_like(function() nn.clip_grad_norm_(model, 1) end, { hint = "model:parameters()" })
  t.error_like(function() optim.SGD(model) end, { hint = "model:parameters()" })
end)

local adam = optim.Adam(model:parameters())
model(rille.ones(1, 2)):sum():backward()
adam:step()

-- A good state with one thing changed.
local function state(change)
  local dict = adam:state_dict()
  change(dict)
  return dict
end

local function state_of_one(change)
  return state(function(dict)
    local _, one = next(dict.state)
    change(one)
  end)
end

local damaged = {
  kind = state(function(d) d.kind = "SGD" end),
  count = state(function(d) d.step_count = nil end),
  groups = state(function(d) d.groups = 5 end),
  lr = state(function(d) d.groups[1].lr = "x" end),
  step = state_of_one(function(one) one.step = nil end),
  absent = state_of_one(function(one) one.exp_avg = nil end),
  shape = state_of_one(function(one) one.exp_avg = rille.zeros(7) end),
  dtype = state_of_one(function(one) one.exp_avg = one.exp_avg:to "i64" end),
  number = state_of_one(function(one) one.exp_avg = 5 end),
}

refused("states of optimizers", {
  { function() adam:load_state_dict(5) end, "E_TYPE", "'state' must be a table, got 5" },
  { function() adam:load_state_dict {} end, "E_STATE", "the state is of nil" },
  { function() adam:load_state_dict(damaged.kind) end, "E_STATE", "the state is of SGD" },
  { function() adam:load_state_dict(damaged.count) end, "E_STATE", "has no 'step_count'" },
  { function() adam:load_state_dict(damaged.groups) end, "E_STATE", "has no 'groups'" },
  { function() adam:load_state_dict(damaged.lr) end, "E_TYPE", "'lr' must be a number" },
  { function() adam:load_state_dict(damaged.step) end, "E_STATE", "has no step" },
  { function() adam:load_state_dict(damaged.absent) end, "E_STATE", "has no 'exp_avg'" },
  { function() adam:load_state_dict(damaged.shape) end, "E_STATE", "is [7], not [" },
  { function() adam:load_state_dict(damaged.dtype) end, "E_STATE", "is no floating tensor" },
  { function() adam:load_state_dict(damaged.number) end, "E_STATE", "is no floating tensor" },
})

t.test("a state that is refused changes nothing; a good one is taken", function()
  t.eq(adam.groups[1].lr, 1e-3)
  t.eq(adam.step_count, 1)
  adam:load_state_dict(adam:state_dict())
  adam:step()
  t.eq(adam.step_count, 2)
end)

t.test("states that were saved before the first step or after it are taken from a file", function()
  local path = os.tmpname()
  for _, stepped in ipairs { false, true } do
    local one = optim.Adam(model:parameters())
    if stepped then one:step() end
    rille.save(path, one:state_dict())
    local other = optim.Adam(model:parameters())
    other:load_state_dict(rille.load(path))
    other:step()
    t.eq(other.step_count, stepped and 2 or 1)
  end
  os.remove(path)
end)

local lbfgs = optim.LBFGS(model:parameters(), { line_search = "strong_wolfe" })
local average = optim.EMA(model)

refused("LBFGS and averages", {
  { function() optim.LBFGS(model) end, "E_TYPE",
    "'params' must be a list of tensors, got a module" },
  { function() optim.LBFGS({}) end, "E_ARG", "the list of parameters is empty" },
  { function() optim.LBFGS(model:parameters(), { line_search = "x" }) end, "E_TYPE",
    "'line_search' must be 'strong_wolfe', got string 'x'" },
  { function() lbfgs:step() end, "E_TYPE", "'closure' must be a function, got nil" },
  { function() lbfgs:load_state_dict {} end, "E_STATE", "the state is of nil" },
  { function() optim.EMA(5) end, "E_TYPE", "'model' must be a module, got 5" },
  { function() optim.EMA(model, { decay = 2 }) end, "E_ARG", "'decay' must be at most 1, got 2" },
  { function() average:load_state_dict {} end, "E_TYPE",
    "'state.count' must be an integer, got nil" },
  { function() average:load_state_dict { count = 1, average = {} } end, "E_STATE",
    "the state has no '" },
})

t.test("states of LBFGS and averages go around", function()
  local function closure()
    lbfgs:zero_grad()
    local loss = model(rille.ones(1, 2)):square():sum()
    loss:backward()
    return loss
  end
  local before = lbfgs:step(closure)
  t.ok(closure():item() < before)
  lbfgs:load_state_dict(lbfgs:state_dict())
  average:update()
  average:load_state_dict(average:state_dict())
  t.eq(average.count, 1)
end)
