#include "ops/arith.h"

#include "core/budget.h"
#include "core/fail.h"
#include "ops/cast.h"
#include "ops/families.h"
#include "ops/pointwise_grad.h"
#include "ops/pointwise_kernels.h"

namespace rille {
namespace {

struct Sum2 {
  template <class A>
  A operator()(A x, A y) const {
    return wrap_add(x, y);
  }
};

struct Quotient {
  template <class A>
  A operator()(A x, A y) const {
    return x / y;
  }
};

// What remainder and fmod leave is taken off first, so that both agree: the quotient of floats may
// be rounded up to a whole number that y does not fit into x that many times.
struct RoundedQuotient {
  bool floor;
  // A quotient of floats that is no whole number is further from one than a double's rounding, as
  // long as the whole number has less than 29 bits; beyond, floats are further apart than that.
  float operator()(float x, float y) const {
    const double q = static_cast<double>(x) / static_cast<double>(y);
    if (!floor) return static_cast<float>(math::trunc(q));
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const bool x_inf = math::fabs(x) == kInf, y_inf = math::fabs(y) == kInf;
    const bool apart = (x < 0) != (y < 0);
    double whole = math::floor(q);
    whole = (y_inf & !x_inf & apart & (x != 0)) ? -1.0 : whole;
    whole = (x_inf & (y != 0)) ? std::numeric_limits<double>::quiet_NaN() : whole;
    return static_cast<float>(whole);
  }
  template <class A>
  A operator()(A x, A y) const {
    const A rest = math::fmod(x, y), q = x / y;
    if (y == A(0) || (!floor && rest != rest)) return math::trunc(q);
    const A whole = math::rint((x - rest) / y);
    if (whole == A(0) && !(floor && rest != A(0) && (rest < A(0)) != (y < A(0))))
      return std::copysign(A(0), q);
    return floor && rest != A(0) && (rest < A(0)) != (y < A(0)) ? whole - A(1) : whole;
  }
  int64_t operator()(int64_t x, int64_t y) const {
    if (y == 0) return 0;  // refused before the kernel runs
    if (y == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
    const int64_t q = x / y;
    return floor && x % y != 0 && (x < 0) != (y < 0) ? q - 1 : q;
  }
};

void check_divisor(const Tensor& divisor, DType result) {
  if (is_float(result)) return;
  Poll poll;
  for (int64_t i = 0; i < divisor.numel(); ++i, poll(1))
    if (divisor.at(i) == 0) throw arg_error("an integer is divided by zero");
}

struct PlusProduct {
  double value;
  template <class A>
  A operator()(A x, A a, A b) const {
    return wrap_add(x, wrap_mul(wrap_mul(limit_as<A>(value), a), b));
  }
};

struct PlusQuotient {
  double value;
  template <class A>
  A operator()(A x, A a, A b) const {
    return x + static_cast<A>(value) * a / b;
  }
};

// Exact at both ends. Halves, since the way from x to the end may be longer than any number.
struct Between {
  template <class A>
  A operator()(A x, A end, A w) const {
    const A half = end * A(0.5) - x * A(0.5);
    return w < A(0.5) ? x + A(2) * (w * half) : end - A(2) * ((A(1) - w) * half);
  }
};

Meta of_three(const Tensor& a, const Tensor& b, const Tensor& c, bool floats) {
  const DType d = result_type({&a, &b, &c});
  if (floats && !is_float(d)) throw dtype_error("needs float tensors, got {}", name(d));
  return pointwise_meta({&a, &b, &c}, d);
}

Tensor part(const Tensor& x, const Tensor& y, Div::Rounding rounding) {
  return call<Div>({x, y, rounding});
}

}  // namespace

// alpha is nearly always 1: that loop has no factor.
void Add::cpu(const Args& a, Tensor& y) {
  if (a.alpha == 1)
    map(Sum2{}, y.dtype(), y, a.x, a.y);
  else
    map(detail::ValueOf2<Fn>{fn(a)}, y.dtype(), y, a.x, a.y);
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
  check_divisor(a.y, y.dtype());
  map(RoundedQuotient{a.rounding == Rounding::floor}, y.dtype(), y, a.x, a.y);
}
Div::Args Div::grad(const Back<Div>& b) {
  if (b.a.rounding != Rounding::none) {
    const Tensor zero = autograd::engine_ops().zeros_like(b.dy);
    return {.x = zero, .y = zero};
  }
  Args g;
  if (b.need(&Args::x)) g.x = b.dy / b.a.y;
  if (b.need(&Args::y)) g.y = call<Ratio>({b.dy, b.a.x, b.a.y, 2, -1});
  return g;
}
void Div::samples(SampleList& s) {
  binary_samples<Div>(s, 0.5, 3);
  add_sample<Div>(s,
                  {.x = grid({4}, -3, 3), .y = grid({4}, 0.6, 1.7), .rounding = Rounding::floor});
}

Neg::Args Neg::grad(const Back<Neg>& b) { return {.x = -b.dy}; }

void Rsub::samples(SampleList& s) { binary_samples<Rsub>(s, -2, 2); }
void FloorDivide::samples(SampleList& s) {
  add_sample<FloorDivide>(s, {grid({3, 4}, -3, 3), grid({4}, 0.6, 1.7)});
  add_sample<FloorDivide>(s, {ids({3, 4}, 9), Tensor::number(int64_t{2})});
}

// ---- rests
// ---------------------------------------------------------------------------------------

void Remainder::cpu(const Args& a, Tensor& y) {
  check_divisor(a.y, y.dtype());
  map(detail::ValueOf2<Fn>{}, y.dtype(), y, a.x, a.y);
}
Remainder::Args Remainder::grad(const Back<Remainder>& b) {
  return {b.dy, b.need(&Args::y) ? -b.dy * part(b.a.x, b.a.y, Div::Rounding::floor) : Tensor()};
}
void Remainder::samples(SampleList& s) {
  add_sample<Remainder>(s, {grid({3, 4}, -3, 3.1), grid({4}, 0.6, 1.7)});
  add_sample<Remainder>(s, {strided(grid({3, 4}, -3, 3.1)), Tensor::number(-0.7)});
  add_sample<Remainder>(s, {ids({3, 4}, 9), Tensor::number(int64_t{-4})});
  add_sample<Remainder>(s, {grid({0, 2}, -3, 3), grid({2}, 1, 2)});
}

void Fmod::cpu(const Args& a, Tensor& y) {
  check_divisor(a.y, y.dtype());
  map(detail::ValueOf2<Fn>{}, y.dtype(), y, a.x, a.y);
}
Fmod::Args Fmod::grad(const Back<Fmod>& b) {
  return {b.dy, b.need(&Args::y) ? -b.dy * part(b.a.x, b.a.y, Div::Rounding::trunc) : Tensor()};
}
void Fmod::samples(SampleList& s) {
  add_sample<Fmod>(s, {grid({3, 4}, -3, 3.1), grid({4}, 0.6, 1.7)});
  add_sample<Fmod>(s, {strided(grid({3, 4}, -3, 3.1)), Tensor::number(-0.7)});
  add_sample<Fmod>(s, {ids({3, 4}, 9), Tensor::number(int64_t{-4})});
  add_sample<Fmod>(s, {grid({0, 2}, -3, 3), grid({2}, 1, 2)});
}

// ---- of three
// ------------------------------------------------------------------------------------

Meta Addcmul::infer(const Args& a) { return of_three(a.x, a.tensor1, a.tensor2, false); }
void Addcmul::cpu(const Args& a, Tensor& y) {
  map(PlusProduct{a.value}, y.dtype(), y, a.x, a.tensor1, a.tensor2);
}
Addcmul::Args Addcmul::grad(const Back<Addcmul>& b) {
  Args g{};
  g.x = b.dy;
  const Tensor dy = b.a.value == 1 ? b.dy : b.dy * b.a.value;
  if (b.need(&Args::tensor1)) g.tensor1 = dy * b.a.tensor2;
  if (b.need(&Args::tensor2)) g.tensor2 = dy * b.a.tensor1;
  return g;
}
void Addcmul::samples(SampleList& s) {
  add_sample<Addcmul>(s, {grid({2, 3}, -1, 1), grid({2, 3}, 0, 2), grid({3}, 1, 2)});
  add_sample<Addcmul>(s, {strided(grid({2, 3}, -1, 1)), grid({2, 1}, 0, 2), grid({3}, 1, 2), -0.5});
  add_sample<Addcmul>(s, {grid({0, 3}, -1, 1), grid({1}, 0, 2), grid({3}, 1, 2), 2});
}

Meta Addcdiv::infer(const Args& a) { return of_three(a.x, a.tensor1, a.tensor2, true); }
void Addcdiv::cpu(const Args& a, Tensor& y) {
  map<false>(PlusQuotient{a.value}, y.dtype(), y, a.x, a.tensor1, a.tensor2);
}
Addcdiv::Args Addcdiv::grad(const Back<Addcdiv>& b) {
  const auto& [x, above, below, value] = b.a;
  Args g{};
  g.x = b.dy;
  if (b.need(&Args::tensor1)) g.tensor1 = call<Ratio>({b.dy, Tensor::number(1.0), below, 1, value});
  if (b.need(&Args::tensor2)) g.tensor2 = call<Ratio>({b.dy, above, below, 2, -value});
  return g;
}
void Addcdiv::samples(SampleList& s) {
  add_sample<Addcdiv>(s, {grid({2, 3}, -1, 1), grid({2, 3}, 0, 2), grid({3}, 1, 2)});
  add_sample<Addcdiv>(s, {strided(grid({2, 3}, -1, 1)), grid({2, 1}, 0, 2), grid({3}, 1, 2), -0.5});
  add_sample<Addcdiv>(s, {grid({0, 3}, -1, 1), grid({1}, 0, 2), grid({3}, 1, 2), 2});
}

Meta Lerp::infer(const Args& a) { return of_three(a.x, a.end, a.weight, true); }
void Lerp::cpu(const Args& a, Tensor& y) {
  map<false>(Between{}, y.dtype(), y, a.x, a.end, a.weight);
}
Lerp::Args Lerp::grad(const Back<Lerp>& b) {
  Args g{};
  const auto& [x, end, weight] = b.a;
  if (b.need(&Args::x)) g.x = widened(b.dy) * (1 - widened(weight));
  if (b.need(&Args::end)) g.end = b.dy * weight;
  if (b.need(&Args::weight)) g.weight = widened(b.dy) * (widened(end) - widened(x));
  return g;
}
void Lerp::samples(SampleList& s) {
  add_sample<Lerp>(s, {grid({2, 3}, -1, 1), grid({2, 3}, 0, 2), Tensor::number(0.3)});
  add_sample<Lerp>(s, {strided(grid({2, 3}, -1, 1)), grid({3}, 0, 2), grid({2, 1}, 0.1, 1.2)});
  add_sample<Lerp>(s, {grid({0, 3}, -1, 1), grid({3}, 0, 2), grid({}, 0, 1)});
}

// ---- operators
// -----------------------------------------------------------------------------------

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
  return list_ops(
      OpList<Add, Sub, Mul, Div, Neg, Rsub, FloorDivide, Remainder, Fmod, Addcmul, Addcdiv, Lerp>{},
      "arith");
}

}  // namespace rille
