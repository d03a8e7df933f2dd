// What schedules share: the optimizer's end of them, and states of numbers.
#pragma once
#include <initializer_list>

#include "interpreter/api/optimizer_state.h"

namespace rille::v1::optim::lr {

/// Throws E_STATE for an optimizer that was moved from.
const std::shared_ptr<OptimizerState>& optimizer_state(const Optimizer& optimizer);
/// Throws E_STATE for one that is gone.
std::shared_ptr<OptimizerState> living(const std::weak_ptr<OptimizerState>& optimizer);
/// The rates now in force, one a group.
std::vector<double> rates_of(OptimizerState& optimizer);

/// A state's tensors of one number, by name. All throw E_STATE.
class StateFields {
 public:
  /// Only these may be there.
  StateFields(const StateDict& dict, std::initializer_list<std::string_view> known);
  int64_t count(const std::string& name) const;  // not negative
  double number(const std::string& name) const;

 private:
  const rille::Tensor& field(const std::string& name) const;
  std::vector<std::pair<std::string, rille::Tensor>> fields_;
};

}  // namespace rille::v1::optim::lr
