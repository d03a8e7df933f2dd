#include "ops/binary.h"

#include "core/fail.h"
#include "core/half.h"
#include "ops/arith.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/families.h"
#include "ops/math.h"
#include "ops/pointwise_grad.h"
#include "ops/pointwise_kernels.h"
#include "ops/rounding.h"
#include "ops/select.h"

namespace rille {
namespace {

Tensor zero() { return Tensor::number(0.0); }
Tensor both(const Tensor& a, const Tensor& b) { return call<LogicalAnd>({a, b}); }
Tensor pow(const Tensor& x, const Tensor& y) { return call<Pow>({x, y}); }
Tensor log(const Tensor& x) { return call<Log>({x}); }

// Powers of one whole number by squaring, so that what can be exact is.
struct WholePower {
  int64_t exponent;
  template <class A>
  A operator()(A x) const {
    A y = A(1);
    for (int64_t n = std::abs(exponent); n != 0; n >>= 1, x *= x)
      if (n & 1) y *= x;
    return exponent < 0 ? A(1) / y : y;
  }
};
struct Squared {
  template <class A>
  A operator()(A x) const {
    return x * x;
  }
};
struct Cubed {
  template <class A>
  A operator()(A x) const {
    return x * x * x;
  }
};
struct Root {
  template <class A>
  A operator()(A x) const {
    return math::sqrt(x);
  }
};

// Exponents that have a kernel of their own. False where none does.
bool special_power(double k, const Tensor& x, Tensor& y) {
  constexpr double kMost = 64;
  const DType d = y.dtype();
  if (k == 2)
    map<false>(Squared{}, d, y, x);
  else if (k == 3)
    map<false>(Cubed{}, d, y, x);
  else if (k == 0.5)
    map<false>(Root{}, d, y, x);
  else if (k == std::trunc(k) && std::abs(k) <= kMost)
    map<false>(WholePower{static_cast<int64_t>(k)}, d, y, x);
  else
    return false;
  return true;
}

}  // namespace

// ---- powers
// --------------------------------------------------------------------------------------

int64_t Pow::Fn::value(int64_t x, int64_t y) const {
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
  uint64_t out = 1;
  for (uint64_t base = static_cast<uint64_t>(x); y != 0; y >>= 1, base *= base)
    if (y & 1) out *= base;
  return static_cast<int64_t>(out);
}
Meta Pow::infer(const Args& a) {
  const DType d = result_type({&a.x, &a.y});
  if (!is_float(d) && a.y.is_number() && a.y.item() < 0)
    throw arg_error("integers to a negative power are no integers")
        .of("x")
        .hint("cast first: x:to 'f32'");
  return pointwise_meta({&a.x, &a.y}, d);
}
void Pow::cpu(const Args& a, Tensor& y) {
  if (a.y.is_number() && is_float(y.dtype()) && special_power(a.y.item(), a.x, y)) return;
  map(detail::ValueOf2<Fn>{}, y.dtype(), y, a.x, a.y);
}
Pow::Args Pow::grad(const Back<Pow>& b) {
  const auto& [x, y] = b.a;
  Args g;
  if (b.need(&Args::x)) g.x = call<PowerSlope>({x, y, b.dy});
  if (b.need(&Args::y)) {
    if (x.is_number() && x.item() != 0) {
      g.y = widened(b.dy) * pow(x, y) * std::log(x.item());
    } else {
      // 0^y stays 0 around any y >= 0.
      const Tensor flat = both(call<Eq>({x, zero()}), call<Ge>({y, zero()}));
      g.y = widened(b.dy) * pow(x, y) * log(masked_fill(x, flat, 1));
    }
  }
  return g;
}
void Pow::samples(SampleList& s) {
  binary_samples<Pow>(s, 0.3, 2);
  for (const double k : {2.0, 3.0, 0.5, -1.0, 0.0, 5.0, 2.7})
    add_sample<Pow>(s, {grid({3, 2}, 0.3, 2), Tensor::number(k)});
  add_sample<Pow>(s, {Tensor::number(2.0), grid({5}, -2, 2)});
  add_sample<Pow>(s, {ids({5}, 6), Tensor::number(int64_t{3})});
  add_sample<Pow>(s, {ids({5}, 6), ids({5}, 4)});
}

Tensor FloatPower::compose(const Args& a) {
  const auto wide = [](const Tensor& t) { return t.is_number() ? t : cast(t, DType::f64); };
  return pow(a.x.is_number() ? cast(a.x, DType::f64) : wide(a.x), wide(a.y));
}
void FloatPower::samples(SampleList& s) {
  add_sample<FloatPower>(s, {grid({2, 3}, 0.3, 2), grid({3}, -1, 1)});
  add_sample<FloatPower>(s, {ids({4}, 5), Tensor::number(-2.0)});
  add_sample<FloatPower>(s, {Tensor::number(2.0), grid({4}, -1, 1)});
}

Tensor Ldexp::compose(const Args& a) {
  if (a.y.is_number()) return a.x * Tensor::number(std::exp2(a.y.item()));
  const DType d = result_type({&a.x, &a.y});
  if (!is_float(d)) return a.x * call<Exp2>({a.y});
  return cast(widened(a.x) * call<Exp2>({widened(a.y)}), d);
}
void Ldexp::samples(SampleList& s) {
  add_sample<Ldexp>(s, {grid({2, 3}, -1, 1), grid({3}, -2, 2)});
  add_sample<Ldexp>(s, {grid({3}, -1, 1), Tensor::number(int64_t{4})});
}

// ---- angles and lengths
// --------------------------------------------------------------------------

Atan2::Args Atan2::grad(const Back<Atan2>& b) {
  const auto& [x, y] = b.a;
  return {b.need(&Args::x) ? turn(x, y, b.dy) : Tensor(),
          b.need(&Args::y) ? -turn(y, x, b.dy) : Tensor()};
}
void Atan2::samples(SampleList& s) { binary_samples<Atan2>(s, -2, 2.1); }

Hypot::Args Hypot::grad(const Back<Hypot>& b) {
  return {b.need(&Args::x) ? call<Ratio>({b.dy, b.a.x, b.y}) : Tensor(),
          b.need(&Args::y) ? call<Ratio>({b.dy, b.a.y, b.y}) : Tensor()};
}
void Hypot::samples(SampleList& s) { binary_samples<Hypot>(s, -2, 2.1); }

Copysign::Args Copysign::grad(const Back<Copysign>& b) {
  Args g;
  if (b.need(&Args::x))
    g.x = b.dy * call<Sign>({b.a.x}) * call<Copysign>({Tensor::number(1.0), b.a.y});
  if (b.need(&Args::y)) g.y = autograd::engine_ops().zeros_like(b.dy);
  return g;
}
void Copysign::samples(SampleList& s) { binary_samples<Copysign>(s, -2, 2.1); }

// ---- logarithms
// ----------------------------------------------------------------------------------

namespace {

template <class O>
typename O::Args exponential_shares(const Back<O>& b, double log_base) {
  const auto& [x, y] = b.a;
  return {b.need(&O::Args::x) ? exponential_share(x, y, b.dy, log_base) : Tensor(),
          b.need(&O::Args::y) ? exponential_share(y, x, b.dy, log_base) : Tensor()};
}

}  // namespace

LogAddExp::Args LogAddExp::grad(const Back<LogAddExp>& b) { return exponential_shares(b, 1); }
void LogAddExp::samples(SampleList& s) { binary_samples<LogAddExp>(s, -2, 2); }
LogAddExp2::Args LogAddExp2::grad(const Back<LogAddExp2>& b) {
  return exponential_shares(b, std::log(2.0));
}
void LogAddExp2::samples(SampleList& s) { binary_samples<LogAddExp2>(s, -2, 2); }

Xlogy::Args Xlogy::grad(const Back<Xlogy>& b) {
  const auto& [x, y] = b.a;
  Args g;
  if (b.need(&Args::x)) {
    const Tensor zeroed = both(call<Eq>({x, zero()}), call<Le>({y, zero()}));
    const Tensor slope = y.is_number() ? b.dy * std::log(y.item()) : b.dy * log(y);
    g.x = masked_fill(slope, zeroed, 0);
  }
  if (b.need(&Args::y)) g.y = call<Ratio>({b.dy, x, y});
  return g;
}
void Xlogy::samples(SampleList& s) { binary_samples<Xlogy>(s, 0.3, 2); }

// ---- steps
// ---------------------------------------------------------------------------------------

// A 16-bit float is an f32 with zeros at its end: one step is one unit of its own last place.
float NextAfter::Fn::value(float x, float y) const {
  if (dtype == DType::f32 || x != x || y != y || x == y) return std::nextafter(x, y);
  const bool brain = dtype == DType::bf16;
  uint16_t bits = brain ? bf16_bits(x) : f16_bits(x);
  if (x == 0)
    bits = static_cast<uint16_t>(y < 0 ? 0x8001 : 1);
  else
    bits = static_cast<uint16_t>((y > x) == (x > 0) ? bits + 1 : bits - 1);
  return brain ? bits_to_float(static_cast<uint32_t>(bits) << 16) : f16_value(bits);
}
Meta NextAfter::infer(const Args& a) {
  const DType d = result_type({&a.x, &a.y});
  if (!is_float(d)) throw dtype_error("needs float tensors, got {}", rille::name(d));
  return pointwise_meta({&a.x, &a.y}, d);
}
// The next number moves with x, and by hardly more than nothing with y.
NextAfter::Args NextAfter::grad(const Back<NextAfter>& b) {
  return {b.dy, b.need(&Args::y) ? autograd::engine_ops().zeros_like(b.dy) : Tensor()};
}
void NextAfter::samples(SampleList& s) { binary_samples<NextAfter>(s, -2, 2); }
void Heaviside::samples(SampleList& s) { binary_samples<Heaviside>(s, -2, 2); }

OpFamily family_binary() {
  return list_ops(OpList<Pow, FloatPower, Ldexp, Atan2, Hypot, Copysign, LogAddExp, LogAddExp2,
                         Xlogy, NextAfter, Heaviside>{},
                  "binary");
}

}  // namespace rille
