// Schedules of schedules.hpp: a curve of the engine's (optim/curves.h) tied to an optimizer, as in
// scripts (stdlib/rille/optim/schedule.lua).
#include <fmt/format.h>

#include <cmath>

#include "core/fail.h"
#include "interpreter/api/inside.h"
#include "interpreter/api/optimizer_state.h"
#include "interpreter/api/schedule_options.h"
#include "interpreter/api/schedule_state.h"
#include "optim/curves.h"

namespace rille::v1::optim::lr {

namespace curves = rille::optim::curves;
using api::guarded_around_host, api::handle_of;

namespace {

struct Curve {
  std::function<curves::Rate(double step, double base)> rate;
  double length = curves::kEndless;
};

template <class C>
Curve curve_of(C curve) {
  const double length = curves::length_of(curve);
  return {[curve = std::move(curve)](double s, double base) { return curve.rate(s, base); },
          length};
}

}  // namespace

struct ScheduleState {
  std::string name;
  std::weak_ptr<OptimizerState> optimizer;
  Curve curve;
  int64_t count = 0, seen = 0;  // moves made, and steps of the optimizer's that are known
  std::vector<double> bases{};
  bool skip_aware = true;  // moves only with the optimizer
};

struct ScheduleAccess {
  static ScheduleState& state(const Schedule& s) {
    if (!s.state_)
      throw Error(ErrorKind::state, "E_STATE", "the schedule was moved to another variable");
    return *s.state_;
  }
  static Schedule make(std::unique_ptr<ScheduleState> state) { return Schedule(std::move(state)); }
};

namespace {

ScheduleState& state_of(const Schedule& s) { return ScheduleAccess::state(s); }

// Goes to a step: nothing has changed where a curve throws.
void go_to(ScheduleState& s, OptimizerState& optimizer, int64_t step) {
  std::vector<curves::Rate> rates;
  for (const double base : s.bases) rates.push_back(s.curve.rate(static_cast<double>(step), base));
  for (size_t i = 0; i < rates.size(); ++i) {
    rate_in(optimizer, optimizer.groups[i]) = rates[i].lr;
    if (rates[i].momentum) momentum_in(optimizer, optimizer.groups[i]) = *rates[i].momentum;
  }
  s.count = step;
  s.seen = optimizer.step_count;
}

std::unique_ptr<ScheduleState> start(const char* name, std::shared_ptr<OptimizerState> optimizer,
                                     Curve curve) {
  auto s = std::make_unique<ScheduleState>(ScheduleState{name, optimizer, std::move(curve)});
  for (Group& group : optimizer->groups)
    s->bases.push_back(group.initial_lr.value_or(rate_in(*optimizer, group)));
  go_to(*s, *optimizer, 0);
  for (size_t i = 0; i < s->bases.size(); ++i) optimizer->groups[i].initial_lr = s->bases[i];
  return s;
}

// `make` gives the curve of checked options.
template <class Options, class F>
std::unique_ptr<ScheduleState> start(const char* name, const Optimizer& optimizer,
                                     const Options& options, F&& make) {
  return guarded_around_host(name, [&] {
    check_options(options);
    return start(name, optimizer_state(optimizer), curve_of(make()));
  });
}

double number(int64_t n) { return static_cast<double>(n); }
double number(const std::optional<int64_t>& n) { return number(n.value()); }

std::unique_ptr<ScheduleState> start_warmup_cosine(const char* name, const Optimizer& optimizer,
                                                   const WarmupCosineOptions& o) {
  return start(name, optimizer, o, [&] {
    return curves::WarmupCosine{number(o.warmup), number(o.steps), o.min_lr};
  });
}

}  // namespace

Schedule::Schedule(std::unique_ptr<ScheduleState> state) : state_(std::move(state)) {}
Schedule::Schedule(Schedule&&) noexcept = default;
Schedule& Schedule::operator=(Schedule&&) noexcept = default;
Schedule::~Schedule() = default;

bool Schedule::step() {
  ScheduleState& s = state_of(*this);
  return guarded_around_host(s.name + ".step", [&] {
    const auto optimizer = living(s.optimizer);
    if (s.skip_aware && optimizer->step_count == s.seen) return false;
    go_to(s, *optimizer, s.count + 1);
    return true;
  });
}

void Schedule::set_skip_aware(bool skip_aware) { state_of(*this).skip_aware = skip_aware; }

double Schedule::at(int64_t step, size_t group) const {
  const ScheduleState& s = state_of(*this);
  return guarded_around_host(s.name + ".at", [&] {
    if (step < 0) throw arg_error("'step' must be at least 0, got {}", step);
    if (group >= s.bases.size())
      throw index_error("group {}, but there are {}", group, s.bases.size());
    return s.curve.rate(number(step), s.bases[group]).lr;
  });
}

std::vector<double> Schedule::last_lr() const {
  const ScheduleState& s = state_of(*this);
  return guarded_around_host(s.name + ".last_lr", [&] { return rates_of(*living(s.optimizer)); });
}

int64_t Schedule::step_count() const { return state_of(*this).count; }

StateDict Schedule::state_dict() const {
  const ScheduleState& s = state_of(*this);
  return guarded_around_host(s.name + ".state_dict", [&] {
    return StateDict{{"step", handle_of(count_tensor(s.count))}};
  });
}

void Schedule::load_state_dict(const StateDict& dict) {
  ScheduleState& s = state_of(*this);
  guarded_around_host(s.name + ".load_state_dict", [&] {
    const auto optimizer = living(s.optimizer);
    const StateFields fields(dict, {"step"});
    go_to(s, *optimizer, fields.count("step"));
  });
}

Step::Step(Optimizer& optimizer, const StepOptions& o)
    : Schedule(start("Step", optimizer, o, [&] {
        return curves::Step{number(o.size), o.gamma};
      })) {}

MultiStep::MultiStep(Optimizer& optimizer, const MultiStepOptions& o)
    : Schedule(start("MultiStep", optimizer, o, [&] {
        return curves::MultiStep{{o.milestones.begin(), o.milestones.end()}, o.gamma};
      })) {}

Constant::Constant(Optimizer& optimizer, const ConstantOptions& o)
    : Schedule(start("Constant", optimizer, o, [&] {
        return curves::Constant{o.factor, number(o.steps)};
      })) {}

Linear::Linear(Optimizer& optimizer, const LinearOptions& o)
    : Schedule(start("Linear", optimizer, o, [&] {
        return curves::Linear{o.start, o.stop, number(o.steps)};
      })) {}

LinearWarmup::LinearWarmup(Optimizer& optimizer, const LinearWarmupOptions& o)
    : Schedule(start("LinearWarmup", optimizer, o, [&] {
        return curves::LinearWarmup{number(o.steps), o.start};
      })) {}

Exponential::Exponential(Optimizer& optimizer, const ExponentialOptions& o)
    : Schedule(start("Exponential", optimizer, o,
                     [&] { return curves::Exponential{o.gamma.value()}; })) {}

Polynomial::Polynomial(Optimizer& optimizer, const PolynomialOptions& o)
    : Schedule(start("Polynomial", optimizer, o, [&] {
        return curves::Polynomial{number(o.steps), o.power};
      })) {}

Cosine::Cosine(Optimizer& optimizer, const CosineOptions& o)
    : Schedule(start("Cosine", optimizer, o, [&] {
        return curves::Cosine{number(o.steps), o.min_lr, o.periodic};
      })) {}

CosineRestarts::CosineRestarts(Optimizer& optimizer, const CosineRestartsOptions& o)
    : Schedule(start("CosineRestarts", optimizer, o, [&] {
        return curves::CosineRestarts{number(o.steps), o.mult, o.min_lr};
      })) {}

OneCycle::OneCycle(Optimizer& optimizer, const OneCycleOptions& o)
    : Schedule(start("OneCycle", optimizer, o, [&] {
        return curves::OneCycle{.max_lr = o.max_lr.value(),
                                .steps = number(o.steps),
                                .pct_start = o.pct_start,
                                .linear = o.anneal == "linear",
                                .div = o.div,
                                .final_div = o.final_div,
                                .three_phase = o.three_phase,
                                .cycle_momentum = o.cycle_momentum,
                                .base_momentum = o.base_momentum,
                                .max_momentum = o.max_momentum};
      })) {}

Cyclic::Cyclic(Optimizer& optimizer, const CyclicOptions& o)
    : Schedule(start("Cyclic", optimizer, o, [&] {
        using Mode = curves::Cyclic::Mode;
        return curves::Cyclic{.base_lr = o.base_lr.value(),
                              .max_lr = o.max_lr.value(),
                              .up = number(o.up),
                              .down = o.down ? std::optional(number(*o.down)) : std::nullopt,
                              .mode = o.mode == "triangular2" ? Mode::triangular2
                                      : o.mode == "exp_range" ? Mode::exp_range
                                                              : Mode::triangular,
                              .gamma = o.gamma};
      })) {}

WarmupCosine::WarmupCosine(Optimizer& optimizer, const WarmupCosineOptions& o)
    : Schedule(start_warmup_cosine("WarmupCosine", optimizer, o)) {}

WarmupStableDecay::WarmupStableDecay(Optimizer& optimizer, const WarmupStableDecayOptions& o)
    : Schedule(start("WarmupStableDecay", optimizer, o, [&] {
        return curves::WarmupStableDecay{number(o.warmup), number(o.stable), number(o.decay),
                                         o.min_lr};
      })) {}

Lambda::Lambda(Optimizer& optimizer, std::function<double(int64_t)> factor)
    : Schedule(guarded_around_host("Lambda", [&] {
        if (!factor) throw type_error("'factor' must be a function, got none");
        const auto rate = [factor = std::move(factor)](double step, double base) {
          return curves::Rate{base * factor(std::llround(step))};
        };
        return lr::start("Lambda", optimizer_state(optimizer), Curve{rate});
      })) {}

// ---- several ------------------------------------------------------------------------------------

namespace {

Curve chained(std::vector<Curve> parts) {
  double length = 0;
  for (const Curve& part : parts) length += part.length;
  const auto rate = [parts = std::move(parts)](double step, double base) {
    const Curve* part = parts.data();
    for (; part != &parts.back() && step >= part->length; ++part) step -= part->length;
    return part->rate(step, base);
  };
  return {rate, length};
}

}  // namespace

Schedule chain(const std::vector<const Schedule*>& parts) {
  return guarded_around_host("chain", [&] {
    const size_t count = parts.size();
    if (count < 2) throw arg_error("needs two schedules or more, got {}", count);
    std::vector<Curve> curves;
    const auto optimizer = living(state_of(*parts[0]).optimizer);
    for (size_t i = 0; i < count; ++i) {
      const ScheduleState& part = state_of(*parts[i]);
      if (part.optimizer.lock() != optimizer) throw arg_error("#{} is of another optimizer", i + 1);
      if (i + 1 < count && std::isinf(part.curve.length))
        throw arg_error("{} has no end, so it must be last", part.name);
      curves.push_back(part.curve);
    }
    return ScheduleAccess::make(start("chain", optimizer, chained(std::move(curves))));
  });
}

}  // namespace rille::v1::optim::lr

namespace rille::v1::optim {

lr::Schedule warmup_cosine(Optimizer& optimizer, const lr::WarmupCosineOptions& options) {
  return lr::ScheduleAccess::make(lr::start_warmup_cosine("warmup_cosine", optimizer, options));
}

}  // namespace rille::v1::optim
