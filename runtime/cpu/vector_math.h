// Math for hot loops: the C library's functions, re-declared so that the compiler may call
// libmvec's vector forms inside `#pragma omp simd` (dependencies.md: no -ffast-math is needed for
// that). Accuracy is 4 ulp in vector form, under 1 ulp in scalar form.
#pragma once
#include <cmath>

#include "core/macros.h"

#define RILLE_VECTOR_MATH_(name)                                     \
  __attribute__((simd("notinbranch"))) double name(double) noexcept; \
  __attribute__((simd("notinbranch"))) float name##f(float) noexcept;
extern "C" {
#if defined(__x86_64__) && !defined(RILLE_NO_CLONES)
RILLE_VECTOR_MATH_(exp)
RILLE_VECTOR_MATH_(exp2)
RILLE_VECTOR_MATH_(expm1)
RILLE_VECTOR_MATH_(log)
RILLE_VECTOR_MATH_(log2)
RILLE_VECTOR_MATH_(log10)
RILLE_VECTOR_MATH_(log1p)
RILLE_VECTOR_MATH_(sin)
RILLE_VECTOR_MATH_(cos)
RILLE_VECTOR_MATH_(tan)
RILLE_VECTOR_MATH_(asin)
RILLE_VECTOR_MATH_(acos)
RILLE_VECTOR_MATH_(atan)
RILLE_VECTOR_MATH_(sinh)
RILLE_VECTOR_MATH_(cosh)
RILLE_VECTOR_MATH_(tanh)
RILLE_VECTOR_MATH_(asinh)
RILLE_VECTOR_MATH_(acosh)
RILLE_VECTOR_MATH_(atanh)
RILLE_VECTOR_MATH_(erf)
RILLE_VECTOR_MATH_(erfc)
__attribute__((simd("notinbranch"))) double pow(double, double) noexcept;
__attribute__((simd("notinbranch"))) float powf(float, float) noexcept;
__attribute__((simd("notinbranch"))) double atan2(double, double) noexcept;
__attribute__((simd("notinbranch"))) float atan2f(float, float) noexcept;
#endif
}
#undef RILLE_VECTOR_MATH_

// One spelling for both widths, usable in functors that are templates of the accumulator type.
namespace rille::math {

#define RILLE_BOTH_WIDTHS_(name)                              \
  RILLE_HD inline double name(double x) { return ::name(x); } \
  RILLE_HD inline float name(float x) { return ::name##f(x); }
RILLE_BOTH_WIDTHS_(exp)
RILLE_BOTH_WIDTHS_(exp2)
RILLE_BOTH_WIDTHS_(expm1)
RILLE_BOTH_WIDTHS_(log)
RILLE_BOTH_WIDTHS_(log2)
RILLE_BOTH_WIDTHS_(log10)
RILLE_BOTH_WIDTHS_(log1p)
RILLE_BOTH_WIDTHS_(sin)
RILLE_BOTH_WIDTHS_(cos)
RILLE_BOTH_WIDTHS_(tan)
RILLE_BOTH_WIDTHS_(asin)
RILLE_BOTH_WIDTHS_(acos)
RILLE_BOTH_WIDTHS_(atan)
RILLE_BOTH_WIDTHS_(sinh)
RILLE_BOTH_WIDTHS_(cosh)
RILLE_BOTH_WIDTHS_(tanh)
RILLE_BOTH_WIDTHS_(asinh)
RILLE_BOTH_WIDTHS_(acosh)
RILLE_BOTH_WIDTHS_(atanh)
RILLE_BOTH_WIDTHS_(erf)
RILLE_BOTH_WIDTHS_(erfc)
RILLE_BOTH_WIDTHS_(sqrt)
RILLE_BOTH_WIDTHS_(fabs)
RILLE_BOTH_WIDTHS_(floor)
RILLE_BOTH_WIDTHS_(ceil)
RILLE_BOTH_WIDTHS_(trunc)
RILLE_BOTH_WIDTHS_(rint)
RILLE_BOTH_WIDTHS_(lgamma)
#undef RILLE_BOTH_WIDTHS_

RILLE_HD inline double pow(double x, double y) { return ::pow(x, y); }
RILLE_HD inline float pow(float x, float y) { return ::powf(x, y); }
RILLE_HD inline double atan2(double y, double x) { return ::atan2(y, x); }
RILLE_HD inline float atan2(float y, float x) { return ::atan2f(y, x); }
RILLE_HD inline double fmod(double x, double y) { return ::fmod(x, y); }
RILLE_HD inline float fmod(float x, float y) { return ::fmodf(x, y); }

}  // namespace rille::math
