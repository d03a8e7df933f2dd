// What stands behind an Optimizer of hosts, for those who look at it besides: schedules.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "optim/flushed.h"
#include "optim/step.h"
#include "rille/optim.hpp"

namespace rille::v1::optim {

enum class Rule { sgd, adam, adamw };

struct Held {
  rille::Tensor param;
  bool begun = false;  // has its state
  int64_t step = 0;
  rille::Tensor state[3], scale[3], master;  // scales of state in eight bits
};

struct Group {
  rille::optim::Sgd sgd;
  rille::optim::Adam adam;
  bool master_weights = false;
  rille::optim::StepHow how;
  std::optional<DType> state_dtype;
  std::vector<Held> held;
  std::optional<double> initial_lr;  // what schedules start from, once there was one
};

struct OptimizerState {
  std::string kind;
  Rule rule;
  std::vector<Group> groups;
  int64_t step_count = 0;
  bool scaled = false;                               // a GradScaler decides about its steps
  int64_t lowered = rille::optim::lowered_to_f16();  // how often autocast did so, at the last step
  std::optional<rille::optim::StepChange> change;    // of the last step, where it was measured
};

struct OptimizerAccess {
  static const std::shared_ptr<OptimizerState>& state(const Optimizer& o) { return o.state_; }
};

inline double& rate_in(const OptimizerState& s, Group& g) {
  return s.rule == Rule::sgd ? g.sgd.lr : g.adam.lr;
}
inline double& momentum_in(const OptimizerState& s, Group& g) {
  return s.rule == Rule::sgd ? g.sgd.momentum : g.adam.beta1;
}

/// A whole number as a state holds it: one integer. Throws E_STATE for another tensor.
int64_t count_in(const rille::Tensor& t, const std::string& name);
rille::Tensor count_tensor(int64_t n);

}  // namespace rille::v1::optim
