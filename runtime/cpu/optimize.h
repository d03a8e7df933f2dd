// Optimizer steps over many tensors in one parallel sweep, and what goes with them: norms, scaling,
// sums. Work is cut into fixed chunks, so bits do not depend on the number of threads. Bound by
// memory: every value is read once and written once. Called by optim and amp.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/dtype.h"

namespace rille::cpu {

/// One parameter of a step. State has the accumulator type (double for f64, else float). A 16-bit
/// parameter may have a float master copy: that is what is updated, and then rounded to `param`.
struct StepTensor {
  DType dtype;  // of param
  void* param;
  DType grad_dtype;
  const void* grad;
  int64_t n;
  void* state[3] = {};  // sgd: the momentum buffer; adam: m, v and, for amsgrad, the maximum of v
  float* master = nullptr;
  int64_t step = 1;  // counted from 1; at 1 sgd's momentum buffer is set, not read
};

/// g = scale * grad (negated to maximise) + weight_decay * w; b = momentum * b + (1 - dampening) *
/// g, g at the first step; w -= lr * (nesterov ? g + momentum * b : b). Without momentum b is g.
struct Sgd {
  double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false, maximize = false;
  double scale = 1;  // of the gradients: clipping, unscaling
};
void sgd_step(std::span<const StepTensor> tensors, const Sgd& options);

/// g as above, but decay is w *= 1 - lr * weight_decay when it is decoupled (AdamW).
/// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; u = amsgrad ? max of v so far : v;
/// w -= lr * (m / (1 - beta1^t)) / (sqrt(u) / sqrt(1 - beta2^t) + eps).
struct Adam {
  double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decoupled = false, amsgrad = false, maximize = false;
  double scale = 1;
};
void adam_step(std::span<const StepTensor> tensors, const Adam& options);

/// A tensor's memory, of floating dtype.
struct Span {
  DType dtype;
  void* data;
  int64_t n;
};

/// The sum of squares of each tensor, in double.
std::vector<double> square_sums(std::span<const Span> tensors);
/// The Euclidean norm of all of them together; 0 of none.
double l2_norm(std::span<const Span> tensors);
/// x *= factor, everywhere. Returns whether all results are finite.
bool scale_all(std::span<const Span> tensors, double factor);
/// x *= factor, everywhere, in one sweep with a look at the values; where the factor is 1 there is
/// the look alone. Returns for each tensor whether all that it held before was finite.
std::vector<char> unscale_all(std::span<const Span> tensors, double factor);
/// What a step made of one tensor: its values before and after, of the same dtype, and the
/// gradient.
struct Stepped {
  DType dtype;
  const void *before, *after;
  DType grad_dtype;
  const void* grad;
  int64_t n;
};
/// Sums of squares of the changes and of the values after them, and how many values stayed as they
/// were although their gradient is not 0: the update was less than half a step of the format.
struct StepChange {
  double update_squares = 0, param_squares = 0;
  int64_t lost = 0;
};
StepChange step_change(std::span<const Stepped> tensors);

}  // namespace rille::cpu
