// Which options schedules take, said once for all who ask: constructors check values by it, the C
// interface reads them by it. Bounds are those of stdlib/rille/optim/curves.lua and plateau.lua.
#pragma once
#include <string_view>

#include "rille/schedules.hpp"

namespace rille::v1::optim::lr {

/// What a value must be; a bound that is not given is none.
struct Bounds {
  std::optional<double> min{}, above{}, max{}, below{};
  std::vector<std::string_view> words{};
  bool required = false;
};

inline const Bounds& kAny = *new Bounds{};
inline const Bounds& kNotNegative = *new Bounds{.min = 0};
inline const Bounds& kPositive = *new Bounds{.above = 0};
inline const Bounds& kFraction = *new Bounds{.min = 0, .below = 1};
inline const Bounds& kNeededNotNegative = *new Bounds{.min = 0, .required = true};
inline const Bounds& kNeededSteps = *new Bounds{.min = 1, .required = true};

// each_option(options, f): f(name, value, bounds) for every option.

template <class F>
void each_option(StepOptions& o, F&& f) {
  f("size", o.size, Bounds{.above = 0, .required = true});
  f("gamma", o.gamma, kNotNegative);
}
template <class F>
void each_option(MultiStepOptions& o, F&& f) {
  f("milestones", o.milestones, Bounds{.required = true});
  f("gamma", o.gamma, kNotNegative);
}
template <class F>
void each_option(ConstantOptions& o, F&& f) {
  f("factor", o.factor, kNotNegative);
  f("steps", o.steps, kNotNegative);
}
template <class F>
void each_option(LinearOptions& o, F&& f) {
  f("start", o.start, kNotNegative);
  f("stop", o.stop, kNotNegative);
  f("steps", o.steps, Bounds{.min = 1});
}
template <class F>
void each_option(LinearWarmupOptions& o, F&& f) {
  f("steps", o.steps, kNeededNotNegative);
  f("start", o.start, kNotNegative);
}
template <class F>
void each_option(ExponentialOptions& o, F&& f) {
  f("gamma", o.gamma, kNeededNotNegative);
}
template <class F>
void each_option(PolynomialOptions& o, F&& f) {
  f("steps", o.steps, Bounds{.min = 1});
  f("power", o.power, kNotNegative);
}
template <class F>
void each_option(CosineOptions& o, F&& f) {
  f("steps", o.steps, kNeededSteps);
  f("min_lr", o.min_lr, kNotNegative);
  f("periodic", o.periodic, kAny);
}
template <class F>
void each_option(CosineRestartsOptions& o, F&& f) {
  f("steps", o.steps, kNeededSteps);
  f("mult", o.mult, Bounds{.min = 1});
  f("min_lr", o.min_lr, kNotNegative);
}
template <class F>
void each_option(OneCycleOptions& o, F&& f) {
  f("max_lr", o.max_lr, kNeededNotNegative);
  f("steps", o.steps, kNeededSteps);
  f("pct_start", o.pct_start, Bounds{.min = 0, .max = 1});
  f("anneal", o.anneal, Bounds{.words = {"cos", "linear"}});
  f("div", o.div, kPositive);
  f("final_div", o.final_div, kPositive);
  f("three_phase", o.three_phase, kAny);
  f("cycle_momentum", o.cycle_momentum, kAny);
  f("base_momentum", o.base_momentum, kFraction);
  f("max_momentum", o.max_momentum, kFraction);
}
template <class F>
void each_option(CyclicOptions& o, F&& f) {
  f("base_lr", o.base_lr, kNeededNotNegative);
  f("max_lr", o.max_lr, kNeededNotNegative);
  f("up", o.up, kPositive);
  f("down", o.down, kNotNegative);
  f("mode", o.mode, Bounds{.words = {"triangular", "triangular2", "exp_range"}});
  f("gamma", o.gamma, kNotNegative);
}
template <class F>
void each_option(WarmupCosineOptions& o, F&& f) {
  f("warmup", o.warmup, kNeededNotNegative);
  f("steps", o.steps, kNeededSteps);
  f("min_lr", o.min_lr, kNotNegative);
}
template <class F>
void each_option(WarmupStableDecayOptions& o, F&& f) {
  f("warmup", o.warmup, kNeededNotNegative);
  f("stable", o.stable, kNeededNotNegative);
  f("decay", o.decay, kNeededNotNegative);
  f("min_lr", o.min_lr, kNotNegative);
}
template <class F>
void each_option(PlateauOptions& o, F&& f) {
  f("mode", o.mode, Bounds{.words = {"min", "max"}});
  f("factor", o.factor, kFraction);
  f("patience", o.patience, kNotNegative);
  f("threshold", o.threshold, kNotNegative);
  f("threshold_mode", o.threshold_mode, Bounds{.words = {"rel", "abs"}});
  f("cooldown", o.cooldown, kNotNegative);
  f("min_lr", o.min_lr, kNotNegative);
  f("eps", o.eps, kNotNegative);
}

/// Throws E_ARG, or E_TYPE for a wrong word, with the texts of scripts.
class Checking {
 public:
  void operator()(const char* name, int64_t value, const Bounds& bounds) const;
  void operator()(const char* name, double value, const Bounds& bounds) const;
  void operator()(const char* name, const std::string& value, const Bounds& bounds) const;
  void operator()(const char*, bool, const Bounds&) const {}
  void operator()(const char*, const std::vector<int64_t>&, const Bounds&) const {}
  template <class T>
  void operator()(const char* name, const std::optional<T>& value, const Bounds& bounds) const {
    if (value)
      (*this)(name, *value, bounds);
    else if (bounds.required)
      throw_missing(name);
  }

  [[noreturn]] static void throw_missing(const char* name);
};

template <class Options>
void check_options(Options options) {
  each_option(options, Checking());
}

}  // namespace rille::v1::optim::lr
