// Casts by rule, next to the plain ones of convert.h: what is beyond a format's range, what is nan,
// and rounding up or down by chance. A new format needs its line in core/dtype alone.
#pragma once
#include <cstdint>
#include <limits>

#include "core/dtype.h"
#include "cpu/random.h"

namespace rille::cpu {

/// A value with magnitude at most `limit`, or nan where it is above `lost`; nan stays nan, or
/// becomes 0.
template <class A>
struct Bounded {
  A limit = std::numeric_limits<A>::infinity();
  bool zero_nan = false;
  A lost = std::numeric_limits<A>::infinity();
  A operator()(A x) const {
    const A low = x < -limit ? -limit : x, inside = low > limit ? limit : low;
    const A kept = x > lost || x < -lost ? std::numeric_limits<A>::quiet_NaN() : inside;
    return zero_nan && x != x ? A(0) : kept;
  }
};

/// The first element that is nan, or -1.
int64_t first_nan(DType d, const void* x, int64_t n);

/// y[i] = x[i] within bounds, rounded to one of its two neighbours in a shorter float format: up
/// with the probability that is its distance from the lower one, so that the mean over many casts
/// is x[i]. A value of the format stays as it is. One 32-bit draw an element.
void round_stochastic(DType from, const void* x, DType to, void* y, int64_t n,
                      const Bounded<double>& bounds, Draw draw);

}  // namespace rille::cpu
