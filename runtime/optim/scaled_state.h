// What an optimizer keeps of a parameter, in eight bits: codes, and an f32 scale for each 128 of
// them that brings their largest to the format's end. An average of squares is kept as its root,
// whose range is the root of theirs. Codes are rounded by chance: to the nearest one, an average
// that moves by less than half a step of the format would stand still for ever.
//
// Groups of 128 and a range that is bent before it is rounded are from COAT (Xi et al., 2024,
// https://arxiv.org/abs/2410.19313), which fits a power to each group where this takes the root.
#pragma once
#include <optional>

#include "core/tensor.h"

namespace rille::optim {

/// What a code stands for: a value, or the root of one.
enum class Kept { value, square };

/// Whether state of that dtype has scales.
bool has_scales(DType d);
/// Throws E_OPTION unless state can be of that dtype: a float of 64, 32 or 16 bits, or of eight.
void check_state_dtype(DType d);
/// How many scales n codes have.
int64_t scale_count(int64_t n);
/// The scales of state of n elements: zeros, as its codes are. Empty for a dtype without.
Tensor fresh_scales(int64_t n, std::optional<DType> d);

/// The f32 values of a state.
Tensor read_scaled(const Tensor& codes, const Tensor& scales, Kept kept);
/// Sets codes and scales to contiguous f32 values; draws from the context's generator. A square
/// that is not 0 does not become 0, which would divide a step by next to nothing.
void write_scaled(const Tensor& values, Kept kept, const Tensor& codes, const Tensor& scales);

}  // namespace rille::optim
