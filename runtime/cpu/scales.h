// Scales of narrow floats: what the largest magnitudes of a matrix are, and a matrix divided or
// multiplied by its scales. Matrices are row-major [rows, n] of f32, each pass bound by memory.
// Elements do not depend on each other, and a largest magnitude not on the order that it is found
// in, so that bits are the same on any number of threads. Called by the quantize and scaled_mm ops.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace rille::cpu {

/// Where the scales of a matrix are: that of element (r, c) is
/// values[r * row_stride + c / block * block_stride].
struct ScaleGrid {
  const float* values = nullptr;
  int64_t row_stride = 0, block = 1, block_stride = 1;
};

/// out[r * blocks + b] = the largest |x| of `block` elements of a row (the last ones may be fewer),
/// nan where one is nan. blocks = ceil(n / block).
void block_amax(const float* x, int64_t rows, int64_t n, int64_t block, float* out);

/// What a division by scales does at its ends.
struct ScaledRange {
  float largest = 0;         // quotients of finite values end at +- this
  bool has_inf = false;      // else infinities become nan
  bool nan_is_zero = false;  // where the scale is nan the quotient is 0: the scale tells it
};

/// z = x / scale; 0 where the scale is 0. z may be x.
void divide_by_scales(const float* x, int64_t rows, int64_t n, const ScaleGrid& scales,
                      const ScaledRange& range, float* z);

/// The same as codes of a narrow dtype, a byte each.
void quantize(const float* x, int64_t rows, int64_t n, const ScaleGrid& scales,
              const ScaledRange& range, DType dtype, void* codes);

/// x = x * scale.
void multiply_by_scales(float* x, int64_t rows, int64_t n, const ScaleGrid& scales);

/// What is left to do to the sums of a product: y[r, c] = sums[r, c] * rows_scale[r] *
/// columns_scale[c] + bias[c]. Null: no such factor or term.
struct Finish {
  const float* row_scale = nullptr;
  const float* column_scale = nullptr;
  const float* bias = nullptr;
};
/// y may be sums where its dtype is f32; codes of narrow ones have a byte each.
void finish_product(const float* sums, int64_t rows, int64_t n, const Finish& f, DType dtype,
                    void* y);

}  // namespace rille::cpu
