#include "ops/arith.h"

#include "core/fail.h"
#include "ops/families.h"
#include "ops/pointwise_kernels.h"

namespace rille {
namespace {

struct Sum2 {
  template <class A> A operator()(A x, A y) const { return static_cast<A>(x + y); }
};

struct Quotient {
  template <class A> A operator()(A x, A y) const { return x / y; }
};

struct RoundedQuotient {
  bool floor;
  template <class A> A operator()(A x, A y) const {
    return floor ? math::floor(x / y) : math::trunc(x / y);
  }
  int64_t operator()(int64_t x, int64_t y) const {
    if (y == 0) return 0;  // refused before the kernel runs
    if (y == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
    const int64_t q = x / y;
    return floor && x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
  }
};

}  // namespace

// alpha is nearly always 1: that loop has no factor.
void Add::cpu(const Args& a, Tensor& y) {
  if (a.alpha == 1) map(Sum2{}, y.dtype(), y, a.x, a.y);
  else map(detail::ValueOf2<Fn>{fn(a)}, y.dtype(), y, a.x, a.y);
}
Add::Args Add::grad(const Back<Add>& b) {
  return {.x = b.dy, .y = b.a.alpha == 1 || !b.need(&Args::y) ? b.dy : b.dy * b.a.alpha};
}
void Add::samples(SampleList& s) {
  binary_samples<Add>(s, -2, 2);
  add_sample<Add>(s, {.x = grid({3}, -1, 1), .y = grid({3}, 0, 1), .alpha = 0.5});
}

Sub::Args Sub::grad(const Back<Sub>& b) {
  return {.x = b.dy, .y = b.need(&Args::y) ? b.dy * -b.a.alpha : Tensor()};
}
void Sub::samples(SampleList& s) { binary_samples<Sub>(s, -2, 2); }

Mul::Args Mul::grad(const Back<Mul>& b) {
  Args g;
  if (b.need(&Args::x)) g.x = b.dy * b.a.y;
  if (b.need(&Args::y)) g.y = b.dy * b.a.x;
  return g;
}
void Mul::samples(SampleList& s) { binary_samples<Mul>(s, -2, 2); }

Meta Div::infer(const Args& a) {
  DType d = result_type({&a.x, &a.y});
  if (a.rounding == Rounding::none && !is_float(d)) d = Context::current().default_dtype;
  return pointwise_meta({&a.x, &a.y}, d);
}
void Div::cpu(const Args& a, Tensor& y) {
  if (a.rounding == Rounding::none) return map<false>(Quotient{}, y.dtype(), y, a.x, a.y);
  if (!is_float(y.dtype()))
    for (int64_t i = 0; i < a.y.numel(); ++i)
      if (a.y.at(i) == 0) throw arg_error("an integer is divided by zero");
  map(RoundedQuotient{a.rounding == Rounding::floor}, y.dtype(), y, a.x, a.y);
}
Div::Args Div::grad(const Back<Div>& b) {
  if (b.a.rounding != Rounding::none) {
    const Tensor zero = autograd::engine_ops().zeros_like(b.dy);
    return {.x = zero, .y = zero};
  }
  Args g;
  if (b.need(&Args::x)) g.x = b.dy / b.a.y;
  if (b.need(&Args::y)) g.y = -(b.dy * b.a.x) / (b.a.y * b.a.y);
  return g;
}
void Div::samples(SampleList& s) {
  binary_samples<Div>(s, 0.5, 3);
  add_sample<Div>(s, {.x = grid({4}, -3, 3), .y = grid({4}, 0.6, 1.7), .rounding = Rounding::floor});
}

Neg::Args Neg::grad(const Back<Neg>& b) { return {.x = -b.dy}; }

// ---- operators -----------------------------------------------------------------------------------

Tensor operator+(const Tensor& a, const Tensor& b) { return call<Add>({.x = a, .y = b}); }
Tensor operator-(const Tensor& a, const Tensor& b) { return call<Sub>({.x = a, .y = b}); }
Tensor operator*(const Tensor& a, const Tensor& b) { return call<Mul>({.x = a, .y = b}); }
Tensor operator/(const Tensor& a, const Tensor& b) { return call<Div>({.x = a, .y = b}); }
Tensor operator-(const Tensor& a) { return call<Neg>({.x = a}); }
Tensor operator+(const Tensor& a, double b) { return a + Tensor::number(b); }
Tensor operator-(const Tensor& a, double b) { return a - Tensor::number(b); }
Tensor operator*(const Tensor& a, double b) { return a * Tensor::number(b); }
Tensor operator/(const Tensor& a, double b) { return a / Tensor::number(b); }
Tensor operator+(double a, const Tensor& b) { return Tensor::number(a) + b; }
Tensor operator-(double a, const Tensor& b) { return Tensor::number(a) - b; }
Tensor operator*(double a, const Tensor& b) { return Tensor::number(a) * b; }
Tensor operator/(double a, const Tensor& b) { return Tensor::number(a) / b; }

std::vector<const OpInfo*> family_arith() {
  return list_ops(OpList<Add, Sub, Mul, Div, Neg>{}, "arith");
}

}  // namespace rille
