// Arithmetic on sizes, strides and offsets that a script's numbers take part in. It throws E_SHAPE
// where a result does not fit 64 bits, so that no size wraps around. `checked_numel` (shape.h) is
// the product of a whole shape; scripts/dev/products finds products that bypass this file.
#pragma once
#include <concepts>

#include "core/shape.h"

namespace rille {

namespace sizes {
[[noreturn]] void fail(int64_t a, char sign, int64_t b);
}

/// An integer whose sums, differences and products are checked: Checked(stride) * (n - 1) + kernel.
/// What follows in the expression is checked, too; comparisons and divisions see an int64_t.
class Checked {
 public:
  constexpr explicit Checked(int64_t value) : value_(value) {}
  constexpr operator int64_t() const { return value_; }

  Checked& operator+=(int64_t b) { return *this = *this + b; }
  Checked& operator-=(int64_t b) { return *this = *this - b; }
  Checked& operator*=(int64_t b) { return *this = *this * b; }
  Checked operator-() const { return Checked(0) - *this; }

#define RILLE_CHECKED_(sign, builtin)                  \
  friend Checked operator sign(Checked a, Checked b) { \
    int64_t c;                                         \
    if (builtin(a.value_, b.value_, &c)) [[unlikely]]  \
      sizes::fail(a.value_, (#sign)[0], b.value_);     \
    return Checked(c);                                 \
  }                                                    \
  template <std::integral T>                           \
  friend Checked operator sign(Checked a, T b) {       \
    return a sign Checked(static_cast<int64_t>(b));    \
  }                                                    \
  template <std::integral T>                           \
  friend Checked operator sign(T a, Checked b) {       \
    return Checked(static_cast<int64_t>(a)) sign b;    \
  }
  RILLE_CHECKED_(+, __builtin_add_overflow)
  RILLE_CHECKED_(-, __builtin_sub_overflow)
  RILLE_CHECKED_(*, __builtin_mul_overflow)
#undef RILLE_CHECKED_

 private:
  int64_t value_;
};

/// a * b / c, none of them negative, where only the quotient must fit.
inline int64_t share(int64_t a, int64_t b, int64_t c) {
  __extension__ typedef __int128 Wide;
  const Wide quotient = Wide{a} * b / c;
  if (quotient > INT64_MAX) [[unlikely]]
    sizes::fail(a, '*', b);
  return static_cast<int64_t>(quotient);
}

/// Elements in the dims [first, last) of a shape; `last` is by default the end.
int64_t numel_of_dims(const Shape& shape, int first, int last = kMaxRank);

/// How many pieces of `size` (at least 1) it takes to hold n (at least 0) elements.
constexpr int64_t pieces(int64_t n, int64_t size) { return n / size + (n % size != 0 ? 1 : 0); }

/// A position counted from 0 or, negative, from the end; it may lie outside of [0, n).
constexpr int64_t from_front(int64_t position, int64_t n) {
  return position < 0 ? position + n : position;
}

/// The whole part of a computed size. Throws E_SHAPE for nan and what 64 bits don't hold.
int64_t whole_size(double value);

/// The first and the last element that a view touches, counted as its offset is. A view without
/// elements touches none: last is first - 1.
struct Reach {
  int64_t first, last;
  int64_t count() const { return last - first + 1; }
};
Reach reach(const Shape& shape, const Strides& strides, int64_t offset);

/// What a window of `kernel` elements, `dilation` apart, leaves of n elements with `begin` and
/// `end` more around them: less than 0 where it does not fit. Throws E_SHAPE where a place would
/// pass 2^47, so that kernels can count places without checks.
int64_t window_room(int64_t n, int64_t kernel, int64_t dilation, int64_t begin, int64_t end);

/// Throws E_OOM, or E_OOM_BUDGET, where `count` things of `bytes` bytes each can't be held: before
/// the first of them is made.
void expect_room(int64_t count, int64_t bytes);

}  // namespace rille
