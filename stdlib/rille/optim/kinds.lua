-- Optimizers as data: options with their defaults and texts, and the tensors that each parameter
-- keeps between steps. The arithmetic is the engine's, one fused call for all parameters
-- (native.optimizer_step).
local moments = { "exp_avg", "exp_avg_sq" }

local function adam_state(group)
  return group.amsgrad and { "exp_avg", "exp_avg_sq", "max_exp_avg_sq" } or moments
end

local rate = { "lr", 1e-3, doc = "learning rate" }

local function adam_options(decay)
  return {
    rate,
    { "betas", { 0.9, 0.999 }, doc = "of the averages of the gradient and of its square" },
    { "eps", 1e-8, doc = "added to the root of the second average" },
    decay,
    { "amsgrad", false, doc = "divides by the largest second average so far" },
  }
end

return {
  SGD = {
    doc = "Steps along the gradient, with momentum if asked for.",
    options = {
      rate, { "momentum", 0.0, doc = "of the velocity that the gradient is added to" },
      { "dampening", 0.0, doc = "the part of the gradient that is not added" },
      { "weight_decay", 0.0, doc = "times the parameter, added to its gradient" },
      { "nesterov", false, doc = "looks one step of the momentum ahead" },
    },
    state = function(group) return group.momentum ~= 0 and { "momentum_buffer" } or {} end,
    check = function(group)
      if group.nesterov and (group.momentum <= 0 or group.dampening ~= 0) then
        return "'nesterov' needs a momentum and no dampening"
      end
    end,
  },
  Adam = {
    doc = "Steps by averages of the gradient and of its square.",
    options = adam_options {
      "weight_decay", 0.0, doc = "times the parameter, added to its gradient",
    },
    state = adam_state,
  },
  AdamW = {
    doc = "Adam whose weight decay stands apart from the gradient.",
    options = adam_options {
      "weight_decay", 0.01, doc = "times the rate and the parameter, taken off it",
    },
    state = adam_state,
  },
}
