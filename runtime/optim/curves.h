// Learning rates as pure functions of the step, which counts from 0: a curve is its options and its
// formula. Values are those of the PyTorch scheduler of the same name. What the options mean, their
// defaults and their ranges stand where they are given: stdlib/rille/optim/curves.lua for scripts,
// rille/schedules.hpp for C++ hosts. Both end here, so both get the same bits.
#pragma once
#include <limits>
#include <optional>
#include <vector>

namespace rille::optim::curves {

/// The rate of a step, and the momentum where the curve moves that, too.
struct Rate {
  double lr;
  std::optional<double> momentum = {};
};

/// The length of what never comes to its end.
inline constexpr double kEndless = std::numeric_limits<double>::infinity();

struct Step {
  double size, gamma;
  Rate rate(double step, double base) const;
};

struct MultiStep {
  std::vector<double> milestones;
  double gamma;
  Rate rate(double step, double base) const;
};

struct Constant {
  double factor, steps;
  Rate rate(double step, double base) const;
  double length() const { return steps; }
};

struct Linear {
  double start, stop, steps;
  Rate rate(double step, double base) const;
  double length() const { return steps; }
};

struct LinearWarmup {
  double steps;
  std::optional<double> start;  // else one step above zero: lr / (n + 1), 2 lr / (n + 1), ... lr
  Rate rate(double step, double base) const;
  double length() const { return steps; }
};

struct Exponential {
  double gamma;
  Rate rate(double step, double base) const;
};

struct Polynomial {
  double steps, power;
  Rate rate(double step, double base) const;
  double length() const { return steps; }
};

struct Cosine {
  double steps, min_lr;
  bool periodic;  // rises again after its steps; else it stays at min_lr
  Rate rate(double step, double base) const;
  double length() const { return periodic ? kEndless : steps; }
};

struct CosineRestarts {
  double steps, mult, min_lr;
  Rate rate(double step, double base) const;
};

/// Momentum moves the other way. Stays at its last value.
struct OneCycle {
  double max_lr, steps, pct_start;
  bool linear;  // else along half cosines
  double div, final_div;
  bool three_phase, cycle_momentum;
  double base_momentum, max_momentum;
  Rate rate(double step, double base) const;
  double length() const { return steps - 1; }
};

struct Cyclic {
  enum class Mode { triangular, triangular2, exp_range };
  double base_lr, max_lr, up;
  std::optional<double> down;  // else as many as up
  Mode mode;                   // the height stays, halves each cycle, or decays by gamma
  double gamma;
  Rate rate(double step, double base) const;
};

/// nanoGPT's: warmup that starts above zero, a half cosine to min_lr, and there it stays.
struct WarmupCosine {
  double warmup, steps, min_lr;
  Rate rate(double step, double base) const;
  double length() const { return steps; }
};

struct WarmupStableDecay {
  double warmup, stable, decay, min_lr;
  Rate rate(double step, double base) const;
  double length() const { return warmup + stable + decay; }
};

/// The steps after which a curve has come to its end; kEndless where it never does.
template <class Curve>
double length_of(const Curve& curve) {
  if constexpr (requires { curve.length(); })
    return curve.length();
  else
    return kEndless;
}

}  // namespace rille::optim::curves
