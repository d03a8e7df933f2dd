// What the values of a tensor say about number formats: how many are zero, subnormal, infinite or
// nan, in which powers of two the others lie, and how many of them a narrower format would lose.
// One pass, bound by the histogram (one increment an element). Counts do not depend on the number
// of threads.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "core/dtype.h"

namespace rille::cpu {

/// Magnitudes at which a format loses values that are rounded to nearest even.
struct FormatLimits {
  std::string_view name;
  double flush;      // at most this becomes 0: half of the smallest subnormal
  double underflow;  // below this it becomes 0 or subnormal, which has fewer digits
  double overflow;   // from this on it lies beyond the largest finite value
};

/// Of f16, bf16, f8_e4m3 and f8_e5m2, from semantics 2.1.1: largest value plus half of its spacing,
/// smallest normal less half of the spacing below it. 464 itself is a tie that goes to 448.
inline constexpr std::array<FormatLimits, 4> kFormatLimits{{
    {"f16", 0x1p-25, 0x1p-14 - 0x1p-25, 65520},
    {"bf16", 0x1p-134, 0x1p-126 - 0x1p-134, 0x1.ffp127},
    {"f8_e4m3", 0x1p-10, 0x1p-6 - 0x1p-10, 464 + 0x1p-44},
    {"f8_e5m2", 0x1p-17, 0x1p-14 - 0x1p-17, 61440},
}};

struct FloatStats {
  /// The exponents that a double can have.
  static constexpr int kLowest = -1074, kHighest = 1023;
  /// Finite values other than 0 that a format would lose, each under all that hold for it: what is
  /// flushed underflows, too.
  struct Losses {
    int64_t flush = 0, underflow = 0, overflow = 0;
  };

  int64_t numel = 0, zeros = 0, subnormals = 0, infinities = 0, nans = 0;
  /// Smallest and largest magnitude of the finite values other than 0; both 0 where there is none.
  double smallest = 0, largest = 0;
  std::array<Losses, kFormatLimits.size()> losses;
  /// exponents[e - kLowest] counts finite values with 2^e <= |x| < 2^(e + 1).
  std::array<int64_t, kHighest - kLowest + 1> exponents{};
};

/// Reads n contiguous values of a dtype that ops compute in. Subnormals are those of the dtype
/// `own`, from which the values may have been widened.
FloatStats float_stats(DType d, const void* x, int64_t n, DType own);

}  // namespace rille::cpu
