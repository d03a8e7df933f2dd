#include "optim/plateau.h"

#include <algorithm>
#include <limits>

namespace rille::optim {

PlateauState fresh_state(const Plateau& p) {
  constexpr double far = std::numeric_limits<double>::infinity();
  return {.best = p.least ? far : -far};
}

bool take(const Plateau& p, PlateauState& state, double metric) {
  const double sign = p.least ? -1 : 1;
  const double bar =
      p.relative ? state.best * (1 + sign * p.threshold) : state.best + sign * p.threshold;
  if (sign * metric > sign * bar) {
    state.best = metric;
    state.bad = 0;
  } else {
    state.bad += state.bad < std::numeric_limits<int64_t>::max();
  }
  if (state.resting > 0) {
    state.resting -= 1;
    state.bad = 0;
  }
  if (static_cast<double>(state.bad) <= p.patience) return false;
  state.resting = p.cooldown;
  state.bad = 0;
  return true;
}

double lowered(const Plateau& p, double lr) {
  const double rate = std::max(lr * p.factor, p.min_lr);
  return lr - rate > p.eps ? rate : lr;
}

}  // namespace rille::optim
