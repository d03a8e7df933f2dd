-- optim.fused_backward: which optimizers it takes (rille.optim.fused has the steps).
local check = require "rille.check"
local fail = require "rille.fail"
local FusedBackward = require "rille.optim.fused"
local marked = require "rille.optim.fused_params".marked
local Optimizer = require "rille.optim.optimizer"

local op = "fused_backward"

local function check_optimizer(optimizer)
  check(op, "optimizer", optimizer, { type = "rille.optim.Optimizer" })
  if optimizer.name == "LBFGS" then
    fail.raise {
      kind = "state", code = "E_FUSED_CLOSURE", op = op,
      message = "LBFGS needs all gradients at once, and several times a step",
      hint = "SGD, Adam and AdamW step a parameter at a time",
    }
  elseif getmetatable(optimizer) ~= Optimizer then
    fail.type(op, "optimizer", "one of rille.optim", optimizer)
  elseif optimizer.fused then
    fail.state(op, "the optimizer's parameters take their steps during backward already")
  end
  for _, group in ipairs(optimizer.groups) do
    for i, t in ipairs(group.params) do
      if marked[t] then
        fail.state(op, "params[%d] takes the steps of another optimizer during backward", i)
      end
    end
  end
end

return {
  -- From now on each parameter takes its step as soon as backward has added up its gradient, and
  -- the gradient is freed: the largest few live at once, not all. Parameters, state and schedules
  -- come out the same, bit for bit, as of backward, step and zero_grad; only what draws numbers to
  -- round by (stochastic_rounding, state in eight bits) draws them in another order.
  -- optimizer:step() is still called after each backward: it ends the step, for schedules and
  -- step_count, and steps what got its gradient in another way. Until the scope's end, or close(),
  -- what needs gradients after backward is refused: clipping (E_FUSED_CLIP), a GradScaler
  -- (E_FUSED_SCALER), a second backward before step (E_FUSED_TWICE), create_graph
  -- (E_FUSED_CREATE_GRAPH), LBFGS (E_FUSED_CLOSURE). A backward that ends early, by an error or a
  -- limit, leaves some parameters stepped and others not.
  --: optimizer: rille.optim.Optimizer -> rille.optim.FusedBackward
  fused_backward = function(optimizer)
    check_optimizer(optimizer)
    return FusedBackward.new(optimizer)
  end,
}
