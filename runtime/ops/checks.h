// What ops demand of their arguments before a kernel relies on it, in one wording each. `what` is
// the argument's name, which the error shows.
#pragma once
#include <string_view>

#include "core/shape.h"
#include "core/tensor.h"

namespace rille {

/// A float that is computed in: not an integer, not a narrow float.
void must_be_float(const Tensor& t, std::string_view what);
void must_be_float(DType d, std::string_view what);
/// Anything but booleans.
void must_be_numbers(const Tensor& t, std::string_view what);
void must_have_dtype(const Tensor& t, DType dtype, std::string_view what);
void must_have_shape(const Tensor& t, const Shape& shape, std::string_view what);
/// From `least` to `most` dims.
void must_have_dims(const Tensor& t, int least, int most, std::string_view what);
void must_be_within(int64_t n, int64_t least, int64_t most, std::string_view what);
/// `n` numbers, each of which is from `least` to `most`.
void must_have_numbers(const Dims& list, int n, int64_t least, int64_t most, std::string_view what);
/// Each id, row-major i64, is from `low` to below `end`: for kernels, before they write anything.
void must_hold_ids(const Tensor& ids, int64_t low, int64_t end, std::string_view what);

/// A size or step beyond this names no memory, and sums of a few don't overflow.
inline constexpr int64_t kFar = kMaxBytes;

}  // namespace rille
