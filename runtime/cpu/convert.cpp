#include "cpu/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/half.h"
#include "core/macros.h"
#include "core/narrow.h"

namespace rille::cpu {
namespace {

// The nearest float, or, where that is not exact, the one of its two neighbours with an odd last
// bit. Rounding that again to a shorter format gives what rounding the double at once would give.
inline float to_odd(double x) {
  const float f = static_cast<float>(x);
  const double back = static_cast<double>(f);
  const uint32_t away = std::fabs(back) > std::fabs(x) ? 1u : 0u;
  return bits_to_float((float_to_bits(f) - away) | (back != x ? 1u : 0u));
}

// The same for integers of more than 53 bits: those that a double has no room for are folded into
// the last one it has.
inline double to_odd(int64_t x) {
  constexpr int64_t limit = int64_t{1} << 53, tail = (1 << 11) - 1;
  const int64_t folded = (x & ~tail) | ((x & tail) != 0 ? tail + 1 : 0);
  return static_cast<double>(x > limit || x < -limit ? folded : x);
}

template <class To, class From>
inline To truncated(From x) {
  using Limits = std::numeric_limits<To>;
  // 2^63 - 1 is not a float; `high` is the first value that does not fit.
  const From low = static_cast<From>(Limits::min());
  const From high = -(low == From(0) ? -static_cast<From>(256) : low);
  const bool fits = x > low && x < high;
  const To whole = static_cast<To>(fits ? x : From(0));
  return x >= high ? Limits::max() : (x <= low ? Limits::min() : whole);
}

template <class To, class From>
inline To cast(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_same_v<To, f16> || std::is_same_v<To, bf16>) {
    if constexpr (std::is_same_v<From, float>) return To(x);
    if constexpr (std::is_same_v<From, double>) return To(to_odd(x));
    if constexpr (std::is_same_v<From, int32_t>) return To(to_odd(static_cast<double>(x)));
    if constexpr (std::is_same_v<From, int64_t>) return To(to_odd(to_odd(x)));
  } else if constexpr (is_narrow_type<To>) {
    if constexpr (std::is_floating_point_v<From>) return To(x);
    if constexpr (std::is_same_v<From, int32_t>) return To(static_cast<double>(x));
    if constexpr (std::is_same_v<From, int64_t>) return To(to_odd(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return truncated<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
RILLE_CLONES void loop(const From* __restrict src, To* __restrict dst, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dst[i] = cast<To>(src[i]);
}

template <class From>
void narrow(const From* src, DType to, void* dst, int64_t n) {
  switch (to) {
    case DType::f64: return loop(src, static_cast<double*>(dst), n);
    case DType::f32: return loop(src, static_cast<float*>(dst), n);
    case DType::f16: return loop(src, static_cast<f16*>(dst), n);
    case DType::bf16: return loop(src, static_cast<bf16*>(dst), n);
    case DType::i64: return loop(src, static_cast<int64_t*>(dst), n);
    case DType::i32: return loop(src, static_cast<int32_t*>(dst), n);
    case DType::i16: return loop(src, static_cast<int16_t*>(dst), n);
    case DType::i8: return loop(src, static_cast<int8_t*>(dst), n);
    case DType::u8: return loop(src, static_cast<uint8_t*>(dst), n);
    case DType::boolean: return loop(src, static_cast<bool*>(dst), n);
    default: with_narrow(to, [&]<DType D>() { loop(src, static_cast<Narrow<D>*>(dst), n); });
  }
}

// Short types go through the next wide one, piece by piece in the first-level cache, so that the
// loops above exist for four sources instead of ten.
constexpr int64_t kPiece = 1024;

template <class From, class Wide>
void widen(const void* src, DType to, void* dst, int64_t n) {
  Wide wide[kPiece];
  const From* from = static_cast<const From*>(src);
  char* out = static_cast<char*>(dst);
  const int64_t size = static_cast<int64_t>(size_of(to));
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t m = std::min(kPiece, n - i);
    loop(from + i, wide, m);
    narrow(wide, to, out + i * size, m);
  }
}

template <class From, class Wide>
void widen_float(const void* src, DType to, void* dst, int64_t n) {
  if (to == DType::f32) return loop(static_cast<const From*>(src), static_cast<float*>(dst), n);
  widen<From, Wide>(src, to, dst, n);
}

template <int64_t kSize>
void gather_units(const char* src, int64_t stride, char* dst, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * kSize, src + i * stride * kSize, kSize);
}

template <int64_t kSize>
void scatter_units(const char* src, char* dst, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * stride * kSize, src + i * kSize, kSize);
}

void gather_bytes(int64_t size, const char* src, int64_t stride, char* dst, int64_t n) {
  switch (size) {
    case 8: return gather_units<8>(src, stride, dst, n);
    case 4: return gather_units<4>(src, stride, dst, n);
    case 2: return gather_units<2>(src, stride, dst, n);
    default: return gather_units<1>(src, stride, dst, n);
  }
}

template <int64_t kSize>
void repeat_unit(char* units, int64_t n) {
  char unit[kSize];
  std::memcpy(unit, units, kSize);
  for (int64_t i = 1; i < n; ++i) std::memcpy(units + i * kSize, unit, kSize);
}

// The first of n units, n times.
void repeat_bytes(int64_t size, char* units, int64_t n) {
  switch (size) {
    case 8: return repeat_unit<8>(units, n);
    case 4: return repeat_unit<4>(units, n);
    case 2: return repeat_unit<2>(units, n);
    default: return repeat_unit<1>(units, n);
  }
}

void scatter_bytes(int64_t size, const char* src, char* dst, int64_t stride, int64_t n) {
  switch (size) {
    case 8: return scatter_units<8>(src, dst, stride, n);
    case 4: return scatter_units<4>(src, dst, stride, n);
    case 2: return scatter_units<2>(src, dst, stride, n);
    default: return scatter_units<1>(src, dst, stride, n);
  }
}

}  // namespace

void convert(DType from, const void* src, DType to, void* dst, int64_t n) {
  if (n <= 0) return;
  if (from == to) {
    if (src != dst) std::memcpy(dst, src, static_cast<size_t>(n) * size_of(from));
    return;
  }
  switch (from) {
    case DType::f64: return narrow(static_cast<const double*>(src), to, dst, n);
    case DType::f32: return narrow(static_cast<const float*>(src), to, dst, n);
    case DType::i64: return narrow(static_cast<const int64_t*>(src), to, dst, n);
    case DType::i32: return narrow(static_cast<const int32_t*>(src), to, dst, n);
    case DType::f16: return widen_float<f16, float>(src, to, dst, n);
    case DType::bf16: return widen_float<bf16, float>(src, to, dst, n);
    case DType::i16: return widen<int16_t, int32_t>(src, to, dst, n);
    case DType::i8: return widen<int8_t, int32_t>(src, to, dst, n);
    case DType::u8:
    case DType::boolean: return widen_float<uint8_t, int32_t>(src, to, dst, n);
    default: with_narrow(from, [&]<DType D>() { widen_float<Narrow<D>, float>(src, to, dst, n); });
  }
}

void gather(DType from, const void* src, int64_t stride, int64_t n, DType to, void* dst) {
  if (stride == 1) return convert(from, src, to, dst, n);
  const int64_t in = static_cast<int64_t>(size_of(from)), out = static_cast<int64_t>(size_of(to));
  const char* source = static_cast<const char*>(src);
  char* target = static_cast<char*>(dst);
  if (stride == 0 && n > 0) {
    convert(from, src, to, dst, 1);
    return repeat_bytes(out, target, n);
  }
  if (from == to) return gather_bytes(in, source, stride, target, n);
  alignas(64) char piece[kPiece * 8];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t m = std::min(kPiece, n - i);
    gather_bytes(in, source + i * stride * in, stride, piece, m);
    convert(from, piece, to, target + i * out, m);
  }
}

void scatter(DType from, const void* src, int64_t n, DType to, void* dst, int64_t stride) {
  if (stride == 1) return convert(from, src, to, dst, n);
  const int64_t in = static_cast<int64_t>(size_of(from)), out = static_cast<int64_t>(size_of(to));
  const char* source = static_cast<const char*>(src);
  char* target = static_cast<char*>(dst);
  if (from == to) return scatter_bytes(out, source, target, stride, n);
  alignas(64) char piece[kPiece * 8];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t m = std::min(kPiece, n - i);
    convert(from, source + i * in, to, piece, m);
    scatter_bytes(out, piece, target + i * stride * out, stride, m);
  }
}

}  // namespace rille::cpu
