// Weighted sums along one dim, by a table: y[o, p, i] = sum over taps t of p of w[t] x[o, at[t],
// i]. Resizing of images is this along each spatial dim in turn. f32 and f64 only; the ops convert
// others, so that a result is rounded once. Each line of memory is one thread's work, in a fixed
// order: the same bits on any number of threads. Called by ops/resize.
#pragma once
#include <cstdint>

#include "core/budget.h"
#include "core/dtype.h"

namespace rille::cpu {

/// Taps of output position p: first[p] .. first[p + 1].
struct Taps {
  CountedVector<int64_t> first{0}, at;
  CountedVector<double> weight;
  int64_t size() const { return static_cast<int64_t>(first.size()) - 1; }
};

/// x [outer, in, inner] to y [outer, taps.size(), inner].
void resample(DType dtype, const Taps& taps, int64_t outer, int64_t in, int64_t inner,
              const void* x, void* y);
/// The transpose: dy [outer, taps.size(), inner] to dx [outer, in, inner].
void resample_backward(DType dtype, const Taps& taps, int64_t outer, int64_t in, int64_t inner,
                       const void* dy, void* dx);

}  // namespace rille::cpu
