// The numbers of learning-rate schedules: rille.optim.lr declares the options, the engine computes
// (optim/curves.h, optim/plateau.h).
#pragma once
#include "interpreter/lua/call.h"

namespace rille::bind {

/// native.curve(name, options, step, base): the rate, and the momentum or nil
void curve(lua::Call& c);
/// native.curve_length(name, options): the steps after which it is at its end, or nil
void curve_length(lua::Call& c);
/// native.plateau(options, best, bad, resting, metric): the three anew, and whether to lower rates
void plateau(lua::Call& c);
/// native.plateau_rate(options, lr): the lowered rate, or `lr` itself
void plateau_rate(lua::Call& c);

}  // namespace rille::bind
