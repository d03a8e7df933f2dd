// The normal distribution's density and distribution function for pointwise ops. In float without a
// call, before which a vector loop would have to empty its registers.
#pragma once
#include "cpu/fast_exp.h"

#include "core/dual.h"  // after the functions that its rules call

namespace rille::math {

/// exp(-x^2 / 2) / sqrt(2 pi); for float within 7e-7 of itself up to |x| = 4, then within 5e-6.
RILLE_HD inline double normal_pdf(double x) { return 0.3989422804014327 * exp(x * x * -0.5); }
RILLE_HD inline float normal_pdf(float x) { return 0.39894228f * cpu::fast_exp(x * x * -0.5f); }

/// The chance of a value below x. For float within 7e-7 of the chance itself where x is above -4,
/// and within 5e-6 down to 1e-38 (1 + erf has no digit left from -6 on). There it is exp(-x^2 / 2)
/// t p(t) with t = 1 / (1 + 0.26 |x|), the form of Hastings (Approximations for Digital Computers,
/// 1955); p minimises the largest relative error (2e-8).
RILLE_HD inline double normal_cdf(double x) { return 0.5 * erfc(x * -0.7071067811865476); }
RILLE_HD inline float normal_cdf(float x) {
  const float t = 1.0f / (1.0f + 0.26f * fabs(x));
  float p = 0.0308397692f;
  p = p * t - 0.15446429f;
  p = p * t + 0.254890949f;
  p = p * t - 0.154869273f;
  p = p * t + 0.163684756f;
  p = p * t + 0.0498456284f;
  p = p * t + 0.103338085f;
  p = p * t + 0.102972627f;
  p = p * t + 0.103761725f;
  const float tail = p * t * cpu::fast_exp(x * x * -0.5f);
  return x < 0.0f ? tail : 1.0f - tail;
}

template <class A>
RILLE_HD Dual<A> normal_pdf(Dual<A> x) {
  const A y = normal_pdf(x.v);
  return {y, -(x.d * x.v * y)};
}
template <class A>
RILLE_HD Dual<A> normal_cdf(Dual<A> x) {
  return {normal_cdf(x.v), x.d * normal_pdf(x.v)};
}

}  // namespace rille::math
