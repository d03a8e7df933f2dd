// Numbers that carry a derivative. A pointwise op gives value and slope; evaluating the slope on
// these gives the second derivative, and on nested ones the third, so nobody writes them by hand.
#pragma once
#include "core/macros.h"

namespace rille {

template <class A>
struct Dual {
  A v, d;
  RILLE_HD Dual() : v(0), d(0) {}
  template <class N>
  RILLE_HD Dual(N constant) : v(constant), d(0) {}  // NOLINT: a constant is a dual number
  RILLE_HD Dual(A value, A slope) : v(value), d(slope) {}
  RILLE_HD Dual operator-() const { return {-v, -d}; }
  friend RILLE_HD Dual operator+(Dual a, Dual b) { return {a.v + b.v, a.d + b.d}; }
  friend RILLE_HD Dual operator-(Dual a, Dual b) { return {a.v - b.v, a.d - b.d}; }
  friend RILLE_HD Dual operator*(Dual a, Dual b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
  friend RILLE_HD Dual operator/(Dual a, Dual b) {
    const A q = a.v / b.v;
    return {q, (a.d - q * b.d) / b.v};
  }
  friend RILLE_HD bool operator<(Dual a, Dual b) { return a.v < b.v; }
  friend RILLE_HD bool operator>(Dual a, Dual b) { return a.v > b.v; }
  friend RILLE_HD bool operator<=(Dual a, Dual b) { return a.v <= b.v; }
  friend RILLE_HD bool operator>=(Dual a, Dual b) { return a.v >= b.v; }
  friend RILLE_HD bool operator==(Dual a, Dual b) { return a.v == b.v; }
  friend RILLE_HD bool operator!=(Dual a, Dual b) { return a.v != b.v; }
};

namespace math {

// f(x) with its derivative by the chain rule. `x.v` may itself be a dual number.
#define RILLE_DUAL_(f, slope)                \
  template <class A>                         \
  RILLE_HD Dual<A> f(Dual<A> x) {            \
    const A v = x.v, y = f(v);               \
    return {y, x.d * static_cast<A>(slope)}; \
  }
RILLE_DUAL_(exp, (void(v), y))
RILLE_DUAL_(exp2, (void(v), y* A(0.6931471805599453)))
RILLE_DUAL_(expm1, (void(v), y + A(1)))
RILLE_DUAL_(log, (void(y), A(1) / v))
RILLE_DUAL_(log2, (void(y), A(1.4426950408889634) / v))
RILLE_DUAL_(log10, (void(y), A(0.4342944819032518) / v))
RILLE_DUAL_(log1p, (void(y), A(1) / (A(1) + v)))
RILLE_DUAL_(sqrt, (void(v), A(0.5) / y))
RILLE_DUAL_(tanh, (void(v), A(1) - y * y))
RILLE_DUAL_(tan, (void(v), A(1) + y * y))
RILLE_DUAL_(atan, (void(y), A(1) / (A(1) + v * v)))
RILLE_DUAL_(asin, (void(y), A(1) / sqrt(A(1) - v * v)))
RILLE_DUAL_(acos, (void(y), A(-1) / sqrt(A(1) - v * v)))
RILLE_DUAL_(asinh, (void(y), A(1) / sqrt(v * v + A(1))))
RILLE_DUAL_(acosh, (void(y), A(1) / sqrt(v * v - A(1))))
RILLE_DUAL_(atanh, (void(y), A(1) / (A(1) - v * v)))
RILLE_DUAL_(erf, (void(y), A(1.1283791670955126) * exp(-(v * v))))
RILLE_DUAL_(erfc, (void(y), A(-1.1283791670955126) * exp(-(v * v))))
RILLE_DUAL_(fabs, (void(y), v < A(0) ? A(-1) : A(1)))
#undef RILLE_DUAL_

template <class A>
RILLE_HD Dual<A> cos(Dual<A> x);
template <class A>
RILLE_HD Dual<A> sin(Dual<A> x) {
  return {sin(x.v), x.d * cos(x.v)};
}
template <class A>
RILLE_HD Dual<A> cos(Dual<A> x) {
  return {cos(x.v), -(x.d * sin(x.v))};
}
template <class A>
RILLE_HD Dual<A> cosh(Dual<A> x);
template <class A>
RILLE_HD Dual<A> sinh(Dual<A> x) {
  return {sinh(x.v), x.d * cosh(x.v)};
}
template <class A>
RILLE_HD Dual<A> cosh(Dual<A> x) {
  return {cosh(x.v), x.d * sinh(x.v)};
}
template <class A>
RILLE_HD Dual<A> floor(Dual<A> x) {
  return {floor(x.v), A(0)};
}

}  // namespace math
}  // namespace rille
