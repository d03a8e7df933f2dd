// What the normalisations share: which gradients are wanted, and scale and shift as the kernels
// take them. For norm.cpp and batch_norm.cpp.
#pragma once
#include <optional>

#include "cpu/rows.h"
#include "ops/arrange.h"
#include "ops/cast.h"

namespace rille {

constexpr int64_t kNormX = 1, kNormWeight = 2, kNormBias = 4;  // bits of `wanted`

/// The dtype that scale and shift are brought to; `otherwise` where there is neither.
inline DType affine_dtype(const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                          DType otherwise) {
  if (weight && bias) return promote(weight->dtype(), bias->dtype());
  return weight ? weight->dtype() : bias ? bias->dtype() : otherwise;
}

/// Holds row-major copies for as long as the kernel runs.
struct AffineOperands {
  AffineOperands(const std::optional<Tensor>& w, const std::optional<Tensor>& b, DType dtype) {
    raw.dtype = dtype;
    if (w) raw.weight = (weight = contiguous(cast(*w, dtype))).data();
    if (b) raw.bias = (bias = contiguous(cast(*b, dtype))).data();
  }
  Tensor weight, bias;
  cpu::Affine raw;
};

}  // namespace rille
