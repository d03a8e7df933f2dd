// The two 16-bit floats as storage types. Arithmetic happens in float; a value is rounded once, to
// nearest even, when it is stored. Subnormals and signed zeros are kept, nan stays nan.
#pragma once
#include <bit>
#include <cstdint>

#include "core/macros.h"

namespace rille {

RILLE_HD inline float bits_to_float(uint32_t u) { return __builtin_bit_cast(float, u); }
RILLE_HD inline uint32_t float_to_bits(float f) { return __builtin_bit_cast(uint32_t, f); }

RILLE_HD inline uint16_t bf16_bits(float f) {
  const uint32_t u = float_to_bits(f);
  if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fc0;
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

RILLE_HD inline float f16_value(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t rest = static_cast<uint32_t>(h & 0x7fffu) << 13;
  if ((h & 0x7c00u) == 0x7c00u) return bits_to_float(sign | 0x7f800000u | rest);
  // Moving the exponent by a multiplication also normalises the subnormals.
  return bits_to_float(sign | float_to_bits(bits_to_float(rest) * 0x1p112f));
}

RILLE_HD inline uint16_t f16_bits(float f) {
  const uint32_t u = float_to_bits(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (a >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520 and beyond
  if (a < 0x38800000u) {  // below 2^-14: the addition rounds at the subnormal's last bit
    const float shifted = bits_to_float(a) + 0.5f;
    return static_cast<uint16_t>(sign | (float_to_bits(shifted) - 0x3f000000u));
  }
  return static_cast<uint16_t>(sign | ((a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13));
}

struct bf16 {
  uint16_t bits;
  bf16() = default;
  RILLE_HD explicit bf16(float f) : bits(bf16_bits(f)) {}
  RILLE_HD operator float() const { return bits_to_float(static_cast<uint32_t>(bits) << 16); }
};

struct f16 {
  uint16_t bits;
  f16() = default;
  RILLE_HD explicit f16(float f) : bits(f16_bits(f)) {}
  RILLE_HD operator float() const { return f16_value(bits); }
};

}  // namespace rille
