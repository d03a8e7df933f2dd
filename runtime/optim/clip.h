// Clipping gradients by their common norm.
#pragma once
#include <span>

#include "core/tensor.h"

namespace rille::optim {

/// The p-norm of the p-norms of all gradients, 0-d (f64 where one of them is, else f32). The
/// gradients are scaled in place by min(1, max / (norm + 1e-6)), unless the norm is not finite.
Tensor clip_norm(std::span<const Tensor> grads, double max, double p = 2);

}  // namespace rille::optim
