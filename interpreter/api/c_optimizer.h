// What the C interface's optimizers are, for schedules, too.
#pragma once
#include <variant>

#include "interpreter/api/c_handles.h"
#include "rille/optim.hpp"

struct rille_optimizer {
  std::variant<rille::v1::optim::SGD, rille::v1::optim::Adam, rille::v1::optim::AdamW> held;
};

namespace rille::capi {

template <class Handle>
auto& base(Handle& o) {
  using Base =
      std::conditional_t<std::is_const_v<Handle>, const v1::optim::Optimizer, v1::optim::Optimizer>;
  return std::visit([](auto& kind) -> Base& { return kind; }, o.held);
}
template <class Handle>
auto& optimizer_in(Handle* o) {
  return base(given(o, "the optimizer"));
}

}  // namespace rille::capi
