#include "cpu/float_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "core/macros.h"
#include "core/threads.h"
#include "cpu/convert.h"

namespace rille::cpu {
namespace {

// Magnitudes are compared as the bits of their format, whose order is theirs: the sign is cleared,
// infinity is the first that is not finite, nan lies above it.
template <class F>
struct Format;
template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr DType dtype = DType::f32;
  static constexpr int mantissa = 23, bias = 127;
};
template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr DType dtype = DType::f64;
  static constexpr int mantissa = 52, bias = 1023;
};
template <class F>
using BitsOf = typename Format<F>::Bits;

template <class F>
constexpr BitsOf<F> kInfinity = std::bit_cast<BitsOf<F>>(std::numeric_limits<F>::infinity());
template <class F>
constexpr size_t kFields = size_t{1} << (sizeof(F) * 8 - 1 - Format<F>::mantissa);

constexpr int64_t kBlock = 1024;
constexpr int64_t kGrain = 64 * kBlock;

// The first magnitude of the format that is not below `limit`.
template <class F>
BitsOf<F> at_least(double limit) {
  F value = static_cast<F>(limit);
  if (static_cast<double>(value) < limit)
    value = std::nextafter(value, std::numeric_limits<F>::infinity());
  return std::bit_cast<BitsOf<F>>(value);
}

// What is counted: values whose bits are below each of these, in this order.
template <class F>
struct Limits {
  static constexpr size_t kCount = 4 + 3 * kFormatLimits.size();
  std::array<BitsOf<F>, kCount> below;

  explicit Limits(DType own) {
    below = {1, at_least<F>(float_info(own).smallest_normal), kInfinity<F>, kInfinity<F> + 1};
    size_t k = 4;
    for (const FormatLimits& format : kFormatLimits) {
      below[k++] = at_least<F>(format.flush) + 1;
      below[k++] = at_least<F>(format.underflow);
      below[k++] = std::min(at_least<F>(format.overflow), kInfinity<F>);
    }
  }
};

// The counts of one thread's share.
template <class F>
struct Tally {
  std::array<int64_t, Limits<F>::kCount> below{};
  std::array<int64_t, kFields<F>> fields{};              // by exponent field
  std::array<int64_t, Format<F>::mantissa> subnormal{};  // by highest bit
  BitsOf<F> smallest = kInfinity<F>, largest = 0;
  int64_t numel = 0;

  void join(const Tally& more) {
    for (size_t k = 0; k < below.size(); ++k) below[k] += more.below[k];
    for (size_t k = 0; k < fields.size(); ++k) fields[k] += more.fields[k];
    for (size_t k = 0; k < subnormal.size(); ++k) subnormal[k] += more.subnormal[k];
    smallest = std::min(smallest, more.smallest);
    largest = std::max(largest, more.largest);
    numel += more.numel;
  }
};

template <class B>
RILLE_CLONES B count_below(const B* bits, int64_t n, B limit) {
  B count = 0;
#pragma omp simd reduction(+ : count)
  for (int64_t i = 0; i < n; ++i) count += bits[i] < limit ? 1 : 0;
  return count;
}

// Magnitudes, and the smallest and the largest that is finite and not 0.
template <class F, class B>
RILLE_CLONES void magnitudes(const F* x, B* bits, int64_t n, B infinity, B* smallest, B* largest) {
  B least = *smallest, most = *largest;
#pragma omp simd reduction(min : least) reduction(max : most)
  for (int64_t i = 0; i < n; ++i) {
    const B b = std::bit_cast<B>(x[i]) & static_cast<B>(~(B{1} << (sizeof(B) * 8 - 1)));
    bits[i] = b;
    const B low = b == 0 ? infinity : b, high = b < infinity ? b : 0;
    least = low < least ? low : least;
    most = high > most ? high : most;
  }
  *smallest = least;
  *largest = most;
}

template <class F>
void count_block(const F* x, int64_t n, const Limits<F>& limits, Tally<F>& tally) {
  using B = BitsOf<F>;
  constexpr int mantissa = Format<F>::mantissa;
  alignas(64) B bits[kBlock];
  magnitudes(x, bits, n, kInfinity<F>, &tally.smallest, &tally.largest);
  for (size_t k = 0; k < limits.below.size(); ++k)
    tally.below[k] += static_cast<int64_t>(count_below(bits, n, limits.below[k]));
  for (int64_t i = 0; i < n; ++i) ++tally.fields[bits[i] >> mantissa];
  if (tally.smallest >> mantissa == 0)  // subnormals of F are rare
    for (int64_t i = 0; i < n; ++i)
      if (bits[i] != 0 && bits[i] >> mantissa == 0)
        ++tally.subnormal[static_cast<size_t>(std::bit_width(bits[i]) - 1)];
  tally.numel += n;
}

template <class F>
FloatStats result_of(const Tally<F>& tally) {
  constexpr int mantissa = Format<F>::mantissa, bias = Format<F>::bias;
  FloatStats s;
  const int64_t zeros = tally.below[0], finite = tally.below[2];
  s.numel = tally.numel;
  s.zeros = zeros;
  s.subnormals = tally.below[1] - zeros;
  s.infinities = tally.below[3] - finite;
  s.nans = tally.numel - tally.below[3];
  if (tally.largest != 0) {
    s.smallest = std::bit_cast<F>(tally.smallest);
    s.largest = std::bit_cast<F>(tally.largest);
  }
  for (size_t f = 0; f < s.losses.size(); ++f) {
    const int64_t* below = &tally.below[4 + 3 * f];
    s.losses[f] = {below[0] - zeros, below[1] - zeros, finite - below[2]};
  }
  const auto at = [&](int exponent) -> int64_t& {
    return s.exponents[static_cast<size_t>(exponent - FloatStats::kLowest)];
  };
  for (size_t field = 1; field + 1 < kFields<F>; ++field)
    at(static_cast<int>(field) - bias) = tally.fields[field];
  for (int bit = 0; bit < mantissa; ++bit)
    at(bit + 1 - bias - mantissa) += tally.subnormal[static_cast<size_t>(bit)];
  return s;
}

template <class F>
FloatStats stats_of(DType d, const void* x, int64_t n, DType own) {
  const Limits<F> limits(own);
  Tally<F> total;
  std::mutex joining;
  const auto* bytes = static_cast<const char*>(x);
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    Tally<F> mine;
    alignas(64) F values[kBlock];
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t m = std::min(kBlock, end - i);
      convert(d, bytes + i * static_cast<int64_t>(size_of(d)), Format<F>::dtype, values, m);
      count_block(values, m, limits, mine);
    }
    const std::lock_guard lock(joining);
    total.join(mine);
  });
  return result_of(total);
}

}  // namespace

FloatStats float_stats(DType d, const void* x, int64_t n, DType own) {
  return d == DType::f64 ? stats_of<double>(d, x, n, own) : stats_of<float>(d, x, n, own);
}

}  // namespace rille::cpu
