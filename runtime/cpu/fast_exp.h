// exp for hot loops over floats: a dozen instructions that the compiler vectorises in place, where
// libmvec's expf is a call that empties the vector registers. For the softmax family and attention.
#pragma once
#include "core/half.h"
#include "cpu/vector_math.h"

namespace rille::cpu {

/// exp(x) for x <= 88, within 2 ulp; 0 where the result would be subnormal; nan stays nan.
/// With k = round(x / ln 2) and r = x - k ln 2, the result is 2^k times a polynomial of r whose
/// coefficients minimise the largest relative error on |r| <= ln 2 / 2 (3e-9).
RILLE_HD inline float fast_exp(float x) {
  constexpr float log2e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  constexpr float magic = 0x1.8p23f;  // adding it leaves round(y) in the low bits of the sum
  const float shifted = x * log2e + magic;
  const float k = shifted - magic;
  const float r = (x - k * ln2_high) - k * ln2_low;
  float p = 1.3814539e-3f;
  p = p * r + 8.368745e-3f;
  p = p * r + 4.166839e-2f;
  p = p * r + 0.16666521f;
  p = p * r + 0.49999994f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const float power = bits_to_float((float_to_bits(shifted) << 23) + 0x3f800000u);
  return x < -87.3f ? 0.0f : p * power;
}
RILLE_HD inline double fast_exp(double x) { return math::exp(x); }

}  // namespace rille::cpu
