// Floats of eight bits and fewer: from a float or a double to a code, and back. One formula for all
// formats of sign, exponent and mantissa; f8_e8m0, which has only an exponent, has its own. A value
// is rounded once, whatever it comes from: to nearest, ties to even, subnormals and (where there is
// one) -0 kept; e8m0 rounds ties up. Branch-free, so that loops over them are vectorised.
#pragma once
#include <cstdint>
#include <type_traits>

#include "core/dtype.h"
#include "core/half.h"
#include "core/macros.h"

namespace rille {

/// How a narrow format spells its values. Codes here are without sign, which is the highest bit.
struct NarrowFormat {
  int bits, mant_bits, bias;
  int largest;     // code of the largest finite value
  int beyond;      // code of what is larger, where it does not saturate
  int nan;         // code of nan, sign included; 0 where the format has none
  bool minus_nan;  // the code of -0 is nan's: zero has no sign (the fnuz pair)
  bool saturates;  // unless it is told not to
};

template <DType D>
RILLE_HD constexpr NarrowFormat narrow_format() {
  if constexpr (D == DType::f8_e4m3) return {8, 3, 7, 0x7e, 0x7f, 0x7f, false, true};
  if constexpr (D == DType::f8_e5m2) return {8, 2, 15, 0x7b, 0x7c, 0x7f, false, false};
  if constexpr (D == DType::f8_e8m0) return {8, 0, 127, 0xfe, 0xff, 0xff, false, false};
  if constexpr (D == DType::f8_e4m3fnuz) return {8, 3, 8, 0x7f, 0x80, 0x80, true, false};
  if constexpr (D == DType::f8_e5m2fnuz) return {8, 2, 16, 0x7f, 0x80, 0x80, true, false};
  if constexpr (D == DType::f6_e3m2) return {6, 2, 3, 0x1f, 0x1f, 0, false, true};
  if constexpr (D == DType::f6_e2m3) return {6, 3, 1, 0x1f, 0x1f, 0, false, true};
  return {4, 1, 1, 0x7, 0x7, 0, false, true};
}

namespace detail {

// What encode needs to know of the type that a value comes in.
template <class F>
struct Wide {
  using Bits = uint32_t;
  using Signed = int32_t;
  static constexpr int mantissa = 23, bias = 127;
};
template <>
struct Wide<double> {
  using Bits = uint64_t;
  using Signed = int64_t;
  static constexpr int mantissa = 52, bias = 1023;
};

template <class F>
RILLE_HD constexpr F power_of_two(int exponent) {
  using W = Wide<F>;
  return __builtin_bit_cast(F, static_cast<typename W::Bits>(exponent + W::bias) << W::mantissa);
}

// 2^(code - 127): half-way and above it goes up. Zero, negative values and nan have no code.
template <class F>
RILLE_HD inline uint8_t encode_exponent(F x, bool saturate) {
  using W = Wide<F>;
  using Bits = typename W::Bits;
  using Signed = typename W::Signed;
  const Bits u = __builtin_bit_cast(Bits, x);
  constexpr Bits inf = static_cast<Bits>(2 * W::bias + 1) << W::mantissa;
  constexpr Bits half = Bits{1} << (W::mantissa - 1);
  Signed code = static_cast<Signed>((u + half) >> W::mantissa) - (W::bias - 127);
  // Between the two lowest values everything goes up, as in ml_dtypes and PyTorch; below, too.
  constexpr Bits lowest =
      W::bias == 127 ? Bits{0x400000} : static_cast<Bits>(W::bias - 127) << W::mantissa;
  constexpr Bits second = static_cast<Bits>(W::bias - 126) << W::mantissa;
  code = u < second ? (u > lowest ? 1 : 0) : code;
  const Signed highest = saturate ? 254 : 255;
  code = code > highest ? highest : code;
  const bool is_positive = u - 1 < inf;  // neither 0 nor nan, and no sign
  return static_cast<uint8_t>(is_positive ? code : 255);
}

}  // namespace detail

/// The code of x, in the lowest bits. Saturating, what lies beyond the largest value, inf too,
/// becomes it; else inf where the format has one, else nan. nan becomes the format's one code for
/// it; f6 and f4 have none and give +0 (whoever must not lose a nan looks for it first).
template <DType D, class F>
RILLE_HD inline uint8_t encode(F x, bool saturate = narrow_format<D>().saturates) {
  static_assert(std::is_same_v<F, float> || std::is_same_v<F, double>);
  constexpr NarrowFormat f = narrow_format<D>();
  if constexpr (D == DType::f8_e8m0) {
    return detail::encode_exponent(x, saturate);
  } else {
    using W = detail::Wide<F>;
    using Bits = typename W::Bits;
    constexpr Bits sign_bit = Bits{1} << (8 * sizeof(F) - 1);
    constexpr Bits inf = static_cast<Bits>(2 * W::bias + 1) << W::mantissa;
    constexpr int drop = W::mantissa - f.mant_bits;
    constexpr F least_normal = detail::power_of_two<F>(1 - f.bias);
    // Its last place is that of the format's subnormals: adding it rounds them.
    constexpr F grid = detail::power_of_two<F>(1 - f.bias + drop);
    const Bits u = __builtin_bit_cast(Bits, x), size = u & ~sign_bit;
    const Bits odd = (size >> drop) & 1;
    const Bits normal = ((size + ((Bits{1} << (drop - 1)) - 1) + odd) >> drop) -
                        (static_cast<Bits>(W::bias - f.bias) << f.mant_bits);
    const Bits subnormal = __builtin_bit_cast(Bits, __builtin_bit_cast(F, size) + grid) -
                           __builtin_bit_cast(Bits, grid);
    Bits code = size < __builtin_bit_cast(Bits, least_normal) ? subnormal : normal;
    const Bits end = static_cast<Bits>(saturate ? f.largest : f.beyond);
    code = code > static_cast<Bits>(f.largest) ? end : code;
    const Bits sign = (u >> (8 * sizeof(F) - 1)) << (f.bits - 1);
    const bool bare = f.minus_nan && (code == 0 || code == static_cast<Bits>(f.nan));
    code = bare ? code : code | sign;
    return static_cast<uint8_t>(size > inf ? static_cast<Bits>(f.nan) : code);
  }
}

/// The value of a code, exactly. Bits above the format's are ignored.
template <DType D>
RILLE_HD inline float decode(uint8_t code) {
  constexpr NarrowFormat f = narrow_format<D>();
  constexpr uint32_t nan = 0x7fc00000u;
  if constexpr (D == DType::f8_e8m0) {
    const uint32_t normal = static_cast<uint32_t>(code) << 23;
    const uint32_t finite = code == 0 ? 0x00400000u : normal;
    return bits_to_float(code == 255 ? nan : finite);
  } else {
    const uint32_t size = code & ((1u << (f.bits - 1)) - 1);
    const uint32_t sign = static_cast<uint32_t>((code >> (f.bits - 1)) & 1) << 31;
    // Moving the exponent by a multiplication also normalises the subnormals.
    constexpr float up = detail::power_of_two<float>(127 - f.bias);
    uint32_t u = float_to_bits(bits_to_float(size << (23 - f.mant_bits)) * up) | sign;
    if constexpr (f.minus_nan) u = code == 0x80 ? nan : u;
    if constexpr (D == DType::f8_e4m3) u = size == 0x7f ? nan : u;
    if constexpr (D == DType::f8_e5m2)
      u = size == 0x7c ? sign | 0x7f800000u : (size > 0x7c ? nan : u);
    return bits_to_float(u);
  }
}

/// A narrow float as a storage type for kernels, as f16 and bf16 are; a packed format's code has a
/// byte of its own here (cpu/packed.h brings it there and back).
template <DType D>
struct Narrow {
  uint8_t bits;
  Narrow() = default;
  RILLE_HD explicit Narrow(float x) : bits(encode<D>(x)) {}
  RILLE_HD explicit Narrow(double x) : bits(encode<D>(x)) {}
  RILLE_HD operator float() const { return decode<D>(bits); }
};
template <class T>
inline constexpr bool is_narrow_type = false;
template <DType D>
inline constexpr bool is_narrow_type<Narrow<D>> = true;

/// Calls f.operator()<D>() with a narrow dtype as a constant.
template <class F>
decltype(auto) with_narrow(DType d, F&& f) {
  switch (d) {
    case DType::f8_e5m2: return f.template operator()<DType::f8_e5m2>();
    case DType::f8_e8m0: return f.template operator()<DType::f8_e8m0>();
    case DType::f8_e4m3fnuz: return f.template operator()<DType::f8_e4m3fnuz>();
    case DType::f8_e5m2fnuz: return f.template operator()<DType::f8_e5m2fnuz>();
    case DType::f6_e3m2: return f.template operator()<DType::f6_e3m2>();
    case DType::f6_e2m3: return f.template operator()<DType::f6_e2m3>();
    case DType::f4_e2m1: return f.template operator()<DType::f4_e2m1>();
    default: return f.template operator()<DType::f8_e4m3>();
  }
}

/// The same for a dtype that is known when the program runs.
inline float decode(DType d, uint8_t code) {
  return with_narrow(d, [&]<DType D>() { return decode<D>(code); });
}
template <class F>
uint8_t encode(DType d, F x, bool saturate) {
  return with_narrow(d, [&]<DType D>() { return encode<D>(x, saturate); });
}

}  // namespace rille
