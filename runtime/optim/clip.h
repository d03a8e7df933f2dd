// Clipping gradients by their common norm.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace rille::optim {

/// The gradients of those parameters that have one, and, where a GradScaler has still to unscale
/// one of them, a warning with the line of that and of the call of `op`. `strict`: E_STATE instead.
struct ToClip {
  std::vector<Tensor> gradients;
  std::string warning;
};
ToClip gradients_to_clip(const char* op, std::span<const Tensor> params, bool strict = false);

/// The p-norm of the p-norms of all gradients, 0-d (f64 where one of them is, else f32). The
/// gradients are scaled in place by min(1, max / (norm + 1e-6)). A norm that is not finite leaves
/// them as they are; `like_torch` scales them nevertheless, by 0 or nan.
Tensor clip_norm(std::span<const Tensor> grads, double max, double p = 2, bool like_torch = false);

}  // namespace rille::optim
