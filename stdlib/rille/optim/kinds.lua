-- Optimizers as data: options with their defaults, and the tensors that each parameter keeps
-- between steps. The arithmetic is the engine's, one fused call for all parameters
-- (native.optimizer_step).
local moments = { "exp_avg", "exp_avg_sq" }

local function adam_state(group)
  return group.amsgrad and { "exp_avg", "exp_avg_sq", "max_exp_avg_sq" } or moments
end

return {
  SGD = {
    options = {
      { "lr", 1e-3 }, { "momentum", 0.0 }, { "dampening", 0.0 }, { "weight_decay", 0.0 },
      { "nesterov", false },
    },
    state = function(group) return group.momentum ~= 0 and { "momentum_buffer" } or {} end,
    check = function(group)
      if group.nesterov and (group.momentum <= 0 or group.dampening ~= 0) then
        return "'nesterov' needs a momentum and no dampening"
      end
    end,
  },
  Adam = {
    options = {
      { "lr", 1e-3 }, { "betas", { 0.9, 0.999 } }, { "eps", 1e-8 }, { "weight_decay", 0.0 },
      { "amsgrad", false },
    },
    state = adam_state,
  },
  AdamW = {
    options = {
      { "lr", 1e-3 }, { "betas", { 0.9, 0.999 } }, { "eps", 1e-8 }, { "weight_decay", 0.01 },
      { "amsgrad", false },
    },
    state = adam_state,
  },
}
