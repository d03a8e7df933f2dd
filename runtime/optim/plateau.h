// Lowering rates when a metric has stopped improving: PyTorch's ReduceLROnPlateau, as a state that
// takes in one metric after another. What the options mean stands in stdlib/rille/optim/plateau.lua
// and rille/schedules.hpp.
#pragma once
#include <cstdint>

namespace rille::optim {

struct Plateau {
  bool least;  // less is better
  double factor, patience, threshold;
  bool relative;  // the threshold is a part of the best, else as it is
  double cooldown, min_lr, eps;
};

struct PlateauState {
  double best;
  int64_t bad = 0;  // metrics since the best that were no better
  double resting = 0;
};

/// That of before the first metric: anything is better.
PlateauState fresh_state(const Plateau& p);
/// Takes a metric in; whether the rates are to be lowered now.
bool take(const Plateau& p, PlateauState& state, double metric);
/// A lowered rate; the rate itself where that would change too little.
double lowered(const Plateau& p, double lr);

}  // namespace rille::optim
