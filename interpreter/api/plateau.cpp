// The schedule that looks at a metric: the engine judges (optim/plateau.h).
#include "optim/plateau.h"

#include "interpreter/api/inside.h"
#include "interpreter/api/schedule_options.h"
#include "interpreter/api/schedule_state.h"

namespace rille::v1::optim::lr {

using api::guarded, api::handle_of;

struct PlateauState {
  std::weak_ptr<OptimizerState> optimizer;
  rille::optim::Plateau rule;
  rille::optim::PlateauState now;
};

namespace {

PlateauState& state_in(const std::unique_ptr<PlateauState>& state) {
  if (!state)
    throw Error(ErrorKind::state, "E_STATE", "the schedule was moved to another variable");
  return *state;
}

rille::optim::Plateau rule_of(const PlateauOptions& o) {
  return {.least = o.mode == "min",
          .factor = o.factor,
          .patience = static_cast<double>(o.patience),
          .threshold = o.threshold,
          .relative = o.threshold_mode == "rel",
          .cooldown = static_cast<double>(o.cooldown),
          .min_lr = o.min_lr,
          .eps = o.eps};
}

}  // namespace

Plateau::Plateau(Optimizer& optimizer, const PlateauOptions& options) {
  guarded("Plateau", [&] {
    check_options(options);
    const rille::optim::Plateau rule = rule_of(options);
    state_ = std::make_unique<PlateauState>(
        PlateauState{optimizer_state(optimizer), rule, rille::optim::fresh_state(rule)});
  });
}
Plateau::Plateau(Plateau&&) noexcept = default;
Plateau& Plateau::operator=(Plateau&&) noexcept = default;
Plateau::~Plateau() = default;

bool Plateau::step(double metric) {
  PlateauState& s = state_in(state_);
  return guarded("Plateau.step", [&] {
    const auto optimizer = living(s.optimizer);
    if (!rille::optim::take(s.rule, s.now, metric)) return false;
    bool any = false;
    for (Group& group : optimizer->groups) {
      double& rate = rate_in(*optimizer, group);
      const double lower = rille::optim::lowered(s.rule, rate);
      any = any || lower < rate;
      rate = lower;
    }
    return any;
  });
}

std::vector<double> Plateau::last_lr() const {
  const PlateauState& s = state_in(state_);
  return guarded("Plateau.last_lr", [&] { return rates_of(*living(s.optimizer)); });
}

StateDict Plateau::state_dict() const {
  const PlateauState& s = state_in(state_);
  return guarded("Plateau.state_dict", [&] {
    const double best = s.now.best;
    return StateDict{{"best", handle_of(rille::Tensor::of({&best, 1}, {}, DType::f64))},
                     {"bad", handle_of(count_tensor(s.now.bad))},
                     {"resting", handle_of(count_tensor(static_cast<int64_t>(s.now.resting)))}};
  });
}

void Plateau::load_state_dict(const StateDict& dict) {
  PlateauState& s = state_in(state_);
  guarded("Plateau.load_state_dict", [&] {
    const StateFields fields(dict, {"best", "bad", "resting"});
    s.now = {.best = fields.number("best"),
             .bad = fields.count("bad"),
             .resting = static_cast<double>(fields.count("resting"))};
  });
}

}  // namespace rille::v1::optim::lr
