// Conversion between the storage types, and between strided and contiguous memory. Elements of
// packed dtypes have a byte each here (core/packed.h brings them there and back).
// A value is rounded once, to nearest even. Floats become integers by truncation, saturated at the
// ends of the range, nan becomes 0; integers wrap; anything that is not 0 becomes true.
// Serial: callers (pointwise engine, row kernels) cut the work and call these on their piece.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace rille::cpu {

/// dst[i] = src[i]; the ranges must not overlap, unless they are the same and so is the dtype.
void convert(DType from, const void* src, DType to, void* dst, int64_t n);

/// dst[i] = src[i * stride]; stride counts elements and may be 0 or negative.
void gather(DType from, const void* src, int64_t stride, int64_t n, DType to, void* dst);

/// dst[i * stride] = src[i].
void scatter(DType from, const void* src, int64_t n, DType to, void* dst, int64_t stride);

}  // namespace rille::cpu
