// Optimizer steps over many parameters in one fused sweep (cpu/optimize.h has the formulas). They
// run outside of every graph and count as writes: a backward that still needed an old value says
// so. What an optimizer is (groups, state by name) is stdlib/rille/optim; both scripts and C++
// hosts end here.
#pragma once
#include <span>

#include "core/tensor.h"
#include "cpu/optimize.h"

namespace rille::optim {

using Sgd = cpu::Sgd;
using Adam = cpu::Adam;

/// One parameter of a step. Tensors may have any strides; state of a dtype other than the
/// accumulator's (f32, or f64 for f64) is computed in that and rounded once, by chance where it has
/// eight bits.
struct StepItem {
  Tensor param, grad;
  Tensor state[3];  // sgd with momentum: its buffer; adam: m, v and, for amsgrad, the maximum of v
  Tensor scale[3];  // of state in eight bits (optim/scaled_state.h)
  Tensor master;    // f32 copy of a 16-bit parameter: what is updated, then rounded to it; or empty
};

/// How parameters are written, and whether that is measured.
struct StepHow {
  /// A 16-bit parameter without a master copy is rounded up or down by chance (numbers of the
  /// context's generator), so that updates below half a step of its format are not lost.
  bool stochastic = false;
  /// What the step changed is summed up, which costs a copy of the parameters. Of a parameter with
  /// a master copy that is what is looked at.
  bool measure = false;
};
using StepChange = cpu::StepChange;

/// `step` counts from 1. Returns zeros where nothing was measured. Throws E_SHAPE, E_DTYPE,
/// E_DEVICE_MISMATCH, E_STATE, E_READONLY.
StepChange sgd_step(std::span<const StepItem> items, const Sgd& options, int64_t step,
                    const StepHow& how = {});
StepChange adam_step(std::span<const StepItem> items, const Adam& options, int64_t step,
                     const StepHow& how = {});

}  // namespace rille::optim
