#include "optim/curves.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rille::optim::curves {
namespace {

// Lua's: a square is one product, whatever the machine's pow makes of it.
double raised(double x, double y) { return y == 2 ? x * x : std::pow(x, y); }

double straight(double from, double to, double part) { return from + (to - from) * part; }

double half_cosine(double from, double to, double part) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * part)) / 2;
}

// The first steps of nanoGPT's kind.
double warming(double base, double step, double warmup) { return base * (step + 1) / (warmup + 1); }

}  // namespace

Rate Step::rate(double step, double base) const {
  return {base * raised(gamma, std::floor(step / size))};
}

Rate MultiStep::rate(double step, double base) const {
  const auto passed = std::count_if(milestones.begin(), milestones.end(),
                                    [&](double milestone) { return step >= milestone; });
  return {base * raised(gamma, static_cast<double>(passed))};
}

Rate Constant::rate(double step, double base) const {
  return {step < steps ? base * factor : base};
}

Rate Linear::rate(double step, double base) const {
  return {base * (start + (stop - start) * std::min(step, steps) / steps)};
}

Rate LinearWarmup::rate(double step, double base) const {
  const double from = start.value_or(1 / (steps + 1));
  return {base * (from + (1 - from) * std::min(step, steps) / std::max(steps, 1.0))};
}

Rate Exponential::rate(double step, double base) const { return {base * raised(gamma, step)}; }

Rate Polynomial::rate(double step, double base) const {
  return {base * raised(1 - std::min(step, steps) / steps, power)};
}

Rate Cosine::rate(double step, double base) const {
  return {half_cosine(base, min_lr, (periodic ? step : std::min(step, steps)) / steps)};
}

namespace {

// Cycles that are passed one by one. What lies beyond, which takes a `mult` just above 1, is passed
// at once by the sum of the geometric series, so that no step takes long.
constexpr int kPassed = 4096;

double part_of_series(double step, double steps, double mult) {
  const double cycles = std::floor(std::log1p(step / steps * (mult - 1)) / std::log(mult));
  const double length = steps * std::pow(mult, cycles);
  return std::clamp((step - (length - steps) / (mult - 1)) / length, 0.0, 1.0);
}

}  // namespace

Rate CosineRestarts::rate(double step, double base) const {
  double left = mult == 1 ? std::fmod(step, steps) : step, length = steps;
  for (int cycle = 0; left >= length; ++cycle) {
    if (cycle == kPassed) return {half_cosine(base, min_lr, part_of_series(step, steps, mult))};
    left -= length;
    length *= mult;
  }
  return {half_cosine(base, min_lr, left / length)};
}

namespace {

enum class Turn { up, down, none };  // of the rate; momentum moves the other way
struct Phase {
  double last, from, to;
  Turn turn;
};

std::vector<Phase> phases_of(const OneCycle& o) {
  const double peak = o.pct_start * o.steps - 1, last = o.steps - 1;
  const double low = o.max_lr / o.div, final = o.max_lr / o.div / o.final_div;
  if (!o.three_phase) return {{peak, low, o.max_lr, Turn::up}, {last, o.max_lr, final, Turn::down}};
  return {{peak, low, o.max_lr, Turn::up},
          {2 * peak, o.max_lr, low, Turn::down},
          {last, low, final, Turn::none}};
}

}  // namespace

Rate OneCycle::rate(double step, double) const {
  const auto shape = linear ? straight : half_cosine;
  const double at = std::min(step, steps - 1);
  double first = 0;
  Rate out{max_lr};
  for (const Phase& phase : phases_of(*this)) {
    const bool here = at <= phase.last || phase.last >= steps - 1;
    if (here) {
      const double part = phase.last > first ? (at - first) / (phase.last - first) : 1;
      out.lr = shape(phase.from, phase.to, part);
      if (!cycle_momentum) break;
      out.momentum = max_momentum;
      if (phase.turn == Turn::up) out.momentum = shape(max_momentum, base_momentum, part);
      if (phase.turn == Turn::down) out.momentum = shape(base_momentum, max_momentum, part);
      break;
    }
    first = phase.last;
  }
  return out;
}

Rate Cyclic::rate(double step, double) const {
  const double length = up + down.value_or(up), place = std::fmod(step, length);
  const double part = place <= up ? place / up : 1 - (place - up) / (length - up);
  double scale = 1;
  if (mode == Mode::triangular2) scale = raised(0.5, std::floor(step / length));
  if (mode == Mode::exp_range) scale = raised(gamma, step);
  return {base_lr + (max_lr - base_lr) * part * scale};
}

Rate WarmupCosine::rate(double step, double base) const {
  if (step < warmup) return {warming(base, step, warmup)};
  const double part = std::min(1.0, (step - warmup) / std::max(steps - warmup, 1.0));
  return {half_cosine(base, min_lr, part)};
}

Rate WarmupStableDecay::rate(double step, double base) const {
  if (step < warmup) return {warming(base, step, warmup)};
  const double part = std::min(1.0, std::max(0.0, step - warmup - stable) / std::max(decay, 1.0));
  return {base + (min_lr - base) * part};
}

}  // namespace rille::optim::curves
