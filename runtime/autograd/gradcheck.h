// Gradients against finite differences: central ones, in f64. For users who check a function of
// their own (debugging.gradcheck) and for the op suite (ops/selftest.h), which walks every op with
// it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace rille::autograd {

using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct GradcheckOptions {
  double eps = 1e-6;   // step of the differences
  double atol = 1e-5;  // passes where |analytic - numeric| <= atol + rtol * |numeric|
  double rtol = 1e-3;
  double nondet_tol = 0;  // by how much two backward passes may differ
  bool fast = false;      // one random direction instead of every element
};

struct GradcheckResult {
  bool passed = true;
  std::string message;   // empty, or the worst mismatch: input, output, elements, both values
  int64_t compared = 0;  // entries of the Jacobian that were looked at
};

/// Compares the gradients of `fn` at `inputs` with finite differences. Every float input that
/// requires a gradient takes part and must be f64 (E_DTYPE); none at all is E_ARG.
GradcheckResult gradcheck(const TensorFunction& fn, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {});

/// The same for the gradients of the gradients, with fixed scattered gradients of the results.
GradcheckResult gradgradcheck(const TensorFunction& fn, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options = {});

}  // namespace rille::autograd
