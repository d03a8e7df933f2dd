#include "cpu/stochastic.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/macros.h"
#include "core/threads.h"
#include "cpu/convert.h"

namespace rille::cpu {
namespace {

constexpr int64_t kPiece = 1024;
constexpr int64_t kGrain = 16 * kPiece;
constexpr int kDoubleBias = 1023, kDoubleMantissa = 52;

inline double power_of_two(int64_t exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + kDoubleBias) << kDoubleMantissa);
}

// In units of the last place at its magnitude a value is a whole number and a fraction; both, and
// the way there and back, are exact. The fraction is compared with the draw instead of added to it,
// for the sum would round.
RILLE_CLONES void round_piece(const uint32_t* words, double* values, int64_t n, int64_t least,
                              int64_t mantissa, double lowest, const Bounded<double>& bounds) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const double x = bounds(values[i]), given = std::fabs(x);
    const double size = given == 0 ? given : std::max(given, lowest);
    const auto field = static_cast<int64_t>(std::bit_cast<uint64_t>(size) >> kDoubleMantissa);
    const int64_t exponent = std::max(field - kDoubleBias, least);
    const double units = size * power_of_two(mantissa - exponent), whole = std::floor(units);
    const double chance = static_cast<double>(words[i]) * 0x1p-32;
    const double up = units - whole > chance ? 1.0 : 0.0;
    values[i] = std::copysign((whole + up) * power_of_two(exponent - mantissa), x);
  }
}

const char* at(const void* p, DType d, int64_t i) {
  return static_cast<const char*>(p) + i * static_cast<int64_t>(size_of(d));
}

}  // namespace

int64_t first_nan(DType d, const void* x, int64_t n) {
  if (category(d) != Category::floating) return -1;
  alignas(64) double values[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t m = std::min(kPiece, n - i);
    convert(d, at(x, d, i), DType::f64, values, m);
    const double* found = std::find_if(values, values + m, [](double v) { return v != v; });
    if (found != values + m) return i + (found - values);
  }
  return -1;
}

void round_stochastic(DType from, const void* x, DType to, void* y, int64_t n,
                      const Bounded<double>& bounds, Draw draw) {
  const FloatInfo& format = float_info(to);
  // f8_e8m0 has no subnormals and no zero: below its lowest value there is nothing to choose.
  const bool has_zero = format.has_zero;
  const double lowest = has_zero ? 0 : format.smallest_normal;
  const int64_t least = has_zero ? 1 - format.bias : -format.bias;
  parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    alignas(64) double values[kPiece];
    alignas(64) uint32_t words[kPiece];
    for (int64_t i = begin; i < end; i += kPiece) {
      const int64_t m = std::min(kPiece, end - i);
      random_words(words, m, {draw.seed, draw.op, draw.first + i});
      convert(from, at(x, from, i), DType::f64, values, m);
      round_piece(words, values, m, least, format.mant_bits, lowest, bounds);
      convert(DType::f64, values, to, const_cast<char*>(at(y, to, i)), m);
    }
  });
}

}  // namespace rille::cpu
