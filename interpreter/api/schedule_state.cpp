#include "interpreter/api/schedule_state.h"

#include <algorithm>

#include "core/fail.h"
#include "interpreter/api/inside.h"

namespace rille::v1::optim::lr {
namespace {

template <class... A>
rille::Error state_error(fmt::format_string<A...> text, A&&... args) {
  return fail(Kind::state, "E_STATE", text, std::forward<A>(args)...);
}

}  // namespace

const std::shared_ptr<OptimizerState>& optimizer_state(const Optimizer& optimizer) {
  const std::shared_ptr<OptimizerState>& state = OptimizerAccess::state(optimizer);
  if (!state) throw state_error("the optimizer was moved to another variable");
  return state;
}

std::shared_ptr<OptimizerState> living(const std::weak_ptr<OptimizerState>& optimizer) {
  auto state = optimizer.lock();
  if (!state) throw state_error("the schedule's optimizer is gone");
  return state;
}

std::vector<double> rates_of(OptimizerState& optimizer) {
  std::vector<double> rates;
  for (Group& group : optimizer.groups) rates.push_back(rate_in(optimizer, group));
  return rates;
}

StateFields::StateFields(const StateDict& dict, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : dict) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw state_error("state of what is not here: '{}'", name);
    fields_.emplace_back(name, api::tensor_of(value));
  }
}

const rille::Tensor& StateFields::field(const std::string& name) const {
  for (const auto& [own, value] : fields_)
    if (own == name) return value;
  throw state_error("'{}' is missing", name);
}

int64_t StateFields::count(const std::string& name) const {
  const int64_t n = count_in(field(name), name);
  if (n < 0) throw state_error("'{}' must be at least 0, got {}", name, n);
  return n;
}

double StateFields::number(const std::string& name) const {
  const rille::Tensor& t = field(name);
  if (t.numel() != 1) throw state_error("'{}' must be one number", name);
  return t.item();
}

}  // namespace rille::v1::optim::lr
