// Moving elements as they are, without looking at their values: strided copies of equal dtypes.
// What joins, cuts, turns and pads tensors is made of these; conversions are in cpu/convert.h.
#pragma once
#include "core/tensor.h"

namespace rille::cpu {

/// dst = src, element by element. Same shape and dtype, any strides; their memory must not overlap.
void copy_strided(const Tensor& dst, const Tensor& src);
/// All bytes 0. Contiguous tensors only.
void clear(const Tensor& dst);

/// The matrices in the last two dims: y = x where low <= column - row <= high, else 0. Any strides;
/// y may be x.
void keep_band(const Tensor& y, const Tensor& x, int64_t low, int64_t high);

/// Calls f.operator()<U>() with the unsigned integer type of the dtype's size: what is only moved
/// needs no other.
template <class F>
void with_unit(DType d, F&& f) {
  switch (size_of(d)) {
    case 8: return f.template operator()<uint64_t>();
    case 4: return f.template operator()<uint32_t>();
    case 2: return f.template operator()<uint16_t>();
    default: return f.template operator()<uint8_t>();
  }
}

/// Counts through the indices of a shape in row-major order and keeps offsets of N operands in
/// step.
template <int N>
class Walk {
 public:
  Walk(const Shape& sizes, const Strides* const (&strides)[N], int64_t begin = 0) : sizes_(sizes) {
    for (int k = 0; k < N; ++k) strides_[k] = *strides[k];
    for (int d = sizes.size() - 1; d >= 0 && begin > 0; --d) {
      at_[d] = begin % sizes[d];
      begin /= sizes[d];
      for (int k = 0; k < N; ++k) offset[k] += at_[d] * strides_[k][d];
    }
  }
  void next() {
    for (int d = sizes_.size() - 1; d >= 0; --d) {
      for (int k = 0; k < N; ++k) offset[k] += strides_[k][d];
      if (++at_[d] < sizes_[d]) return;
      at_[d] = 0;
      for (int k = 0; k < N; ++k) offset[k] -= sizes_[d] * strides_[k][d];
    }
  }
  int64_t at(int dim) const { return at_[dim]; }

  int64_t offset[N] = {};

 private:
  Shape sizes_;
  Strides strides_[N];
  int64_t at_[kMaxRank] = {};
};

}  // namespace rille::cpu
