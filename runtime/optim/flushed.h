// W_F16_NO_SCALER: gradients that came through f16 without a scale, and are too small for it.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/tensor.h"

namespace rille::optim {

/// Steps of an optimizer after which nobody looks any more.
inline constexpr int64_t kLookedAt = 10;

/// How many recorded calls this thread's autocast scopes have lowered to f16 so far: where that has
/// grown since the step before, a look at the gradients is worth a sweep.
int64_t lowered_to_f16();

/// A warning, with figures and up to five names, where more than a hundredth of the gradients is
/// below 2^-14, in the range where f16 loses digits and then the value, or all of them are 0; else
/// nothing. What is exactly 0 beside others counts for nothing: rows of an embedding that were not
/// used are.
std::string flushed_warning(const std::string& op, std::span<const Tensor> params,
                            std::span<const std::string> names);

}  // namespace rille::optim
