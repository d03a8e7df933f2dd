// Special functions that the C library lacks: the inverse error function, and digamma with its
// derivatives. Scalar code in double; float callers round once. With derivatives for dual numbers.
#pragma once
#include "cpu/vector_math.h"

#include "core/dual.h"  // after the functions that its rules call

namespace rille::math {

/// The x with erf(x) = y: infinite at -1 and 1, nan beyond.
double erfinv(double y);
inline float erfinv(float y) { return static_cast<float>(erfinv(static_cast<double>(y))); }

/// The n-th derivative of digamma, the slope of lgamma; n = 0 is digamma itself.
double polygamma(int n, double x);
inline float polygamma(int n, float x) {
  return static_cast<float>(polygamma(n, static_cast<double>(x)));
}
template <class A>
Dual<A> polygamma(int n, Dual<A> x) {
  return {polygamma(n, x.v), x.d * polygamma(n + 1, x.v)};
}

}  // namespace rille::math
