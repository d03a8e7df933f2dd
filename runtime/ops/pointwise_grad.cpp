#include "ops/pointwise_grad.h"

#include "core/fail.h"
#include "ops/arith.h"
#include "ops/binary.h"
#include "ops/families.h"
#include "ops/math.h"
#include "ops/pointwise_kernels.h"

namespace rille {
namespace {

// In double the products of three floats neither overflow nor vanish. For doubles themselves the
// order keeps most results: quotients of what is alike come first.
struct Quotients {
  bool square, or_zero;
  double scale;
  RILLE_HD double operator()(double x, double y, double z) const {
    const double q = scale * (square ? x / z * (y / z) : x * (y / z));
    return or_zero && z == 0 ? 0 : q;
  }
  RILLE_HD float operator()(float x, float y, float z) const {
    const double a = x, b = y, c = z;
    const double q = scale * (a * b / (square ? c * c : c));
    return or_zero && z == 0 ? 0 : static_cast<float>(q);
  }
};

struct AnyPower {
  template <class A>
  A operator()(A x, A k, A dy) const {
    return k == A(0) ? A(0) : dy * (k * math::pow(x, k - A(1)));
  }
};
// Whole exponents by multiplying, as pow itself does.
struct WholeSlope {
  int64_t exponent;  // k - 1
  template <class A>
  A operator()(A x, A dy) const {
    A y = dy * static_cast<A>(exponent + 1);
    if (exponent >= 0) {
      for (int64_t n = exponent; n != 0; n >>= 1, x *= x)
        if (n & 1) y *= x;
    } else {
      for (int64_t n = -exponent; n != 0; n >>= 1, x *= x)
        if (n & 1) y /= x;
    }
    return y;
  }
};

struct Turned {
  RILLE_HD double operator()(double x, double y, double dy) const {
    const double size = std::hypot(x, y);
    return size == 0 ? 0 : dy * (y / size / size);
  }
  RILLE_HD float operator()(float x, float y, float dy) const {
    const double u = x, v = y, square = u * u + v * v;
    return square == 0 ? 0 : static_cast<float>(dy * v / square);
  }
};

struct Shared {
  double log_base;
  template <class A>
  A operator()(A x, A y, A dy) const {
    const A apart = x == y ? A(0) : A(log_base) * (y - x);  // equal infinities are not apart
    return dy / (A(1) + math::exp(apart));
  }
};

struct SharedExtreme {
  ExtremeShare::Of of;
  bool second;
  template <class A>
  A operator()(A x, A y, A dy) const {
    using Of = ExtremeShare::Of;
    const A own = second ? y : x, other = second ? x : y;
    const bool least = of == Of::min || of == Of::fmin,
               skips_nan = of == Of::fmax || of == Of::fmin;
    const bool wins = least ? own < other : own > other;
    const bool none =
        skips_nan ? (second ? own == own : true) && other != other : own != own || other != other;
    return wins || none ? dy : own == other ? dy * A(0.5) : A(0);
  }
};

struct SharedClamp {
  ClampShare::Part part;
  bool numbers;
  template <class A>
  A operator()(A x, A low, A high, A dy) const {
    using Part = ClampShare::Part;
    const bool below = x<low, above = x> high, crossed = low > high;
    if (numbers) return part == Part::x && x > low && x < high ? dy : A(0);
    if (part == Part::x) {
      const bool tie = (x == low || x == high) && low < high;
      return below || above || crossed ? A(0) : tie ? dy * A(0.5) : dy;
    }
    const bool wins = part == Part::low ? below && low <= high : crossed || (above && low <= high);
    const bool tie = low < high && x == (part == Part::low ? low : high);
    return wins ? dy : tie ? dy * A(0.5) : A(0);
  }
};

Meta float_result(std::initializer_list<const Tensor*> operands) {
  const DType d = result_type(operands);
  if (!is_float(d)) throw dtype_error("needs float tensors, got {}", name(d));
  return pointwise_meta(operands, d);
}

// What is compared decides the type of the comparison; what passes has that of dy.
DType compared_as(std::initializer_list<const Tensor*> operands) {
  const DType d = result_type(operands);
  return is_float(d) ? d : DType::f64;
}

}  // namespace

// ---- quotients ----------------------------------------------------------------------------------

Meta Ratio::infer(const Args& a) {
  if (a.power != 1 && a.power != 2) throw arg_error("'power' must be 1 or 2, got {}", a.power);
  return float_result({&a.x, &a.y, &a.z});
}
void Ratio::cpu(const Args& a, Tensor& out) {
  map<false>(Quotients{a.power == 2, a.or_zero, a.scale}, out.dtype(), out, a.x, a.y, a.z);
}
Ratio::Args Ratio::grad(const Back<Ratio>& b) {
  const auto& [x, y, z, power, scale, or_zero] = b.a;
  Args g{};
  if (b.need(&Args::x)) g.x = call<Ratio>({b.dy, y, z, power, scale, or_zero});
  if (b.need(&Args::y)) g.y = call<Ratio>({b.dy, x, z, power, scale, or_zero});
  if (b.need(&Args::z))
    g.z = call<Ratio>({.x = b.dy,
                       .y = call<Ratio>(b.a),
                       .z = z,
                       .scale = -static_cast<double>(power),
                       .or_zero = or_zero});
  return g;
}
void Ratio::samples(SampleList& s) {
  add_sample<Ratio>(s, {grid({3, 4}, -2, 2), grid({3, 4}, 1, 3), grid({3, 4}, 0.5, 2)});
  add_sample<Ratio>(s,
                    {strided(grid({3, 4}, -2, 2)), grid({4}, 1, 3), grid({3, 1}, 0.5, 2), 2, -1});
  add_sample<Ratio>(s, {grid({4}, -2, 2), grid({}, 1, 3), grid({4}, -2, -0.6), 1, 0.3, true});
  add_sample<Ratio>(s, {grid({0, 4}, -2, 2), grid({4}, 1, 3), grid({4}, 0.5, 2)});
}

// ---- powers -------------------------------------------------------------------------------------

Meta PowerSlope::infer(const Args& a) { return float_result({&a.x, &a.k, &a.dy}); }
void PowerSlope::cpu(const Args& a, Tensor& out) {
  constexpr double kMost = 64;
  const double k = a.k.is_number() ? a.k.item() : 0.5;
  if (k != 0 && k == std::trunc(k) && std::abs(k) <= kMost)
    return map<false>(WholeSlope{static_cast<int64_t>(k) - 1}, out.dtype(), out, a.x, a.dy);
  map<false>(AnyPower{}, out.dtype(), out, a.x, a.k, a.dy);
}
PowerSlope::Args PowerSlope::grad(const Back<PowerSlope>& b) {
  const auto& [x, k, dy] = b.a;
  Args g{};
  if (b.need(&Args::dy)) g.dy = call<PowerSlope>({x, k, b.dy});
  if (b.need(&Args::x)) {
    const Tensor less = k.is_number() ? Tensor::number(k.item() - 1) : k - 1;
    g.x = call<PowerSlope>({x, less, b.dy * dy * k});
  }
  if (b.need(&Args::k)) {
    const Tensor power = call<Pow>({x, k.is_number() ? Tensor::number(k.item() - 1) : k - 1});
    g.k = b.dy * dy * power * (1 + k * call<Log>({x}));
  }
  return g;
}
void PowerSlope::samples(SampleList& s) {
  add_sample<PowerSlope>(s, {grid({3, 4}, 0.4, 2), grid({3, 4}, -1, 2.3), grid({3, 4}, -1, 1)});
  add_sample<PowerSlope>(s, {strided(grid({3, 4}, 0.4, 2)), grid({4}, 0.7, 2), grid({3, 1}, 0, 1)});
  for (const double k : {2.0, 3.0, -2.0, 1.0, 0.0, 2.7})
    add_sample<PowerSlope>(s, {grid({5}, 0.4, 2), Tensor::number(k), grid({5}, -1, 1)});
  add_sample<PowerSlope>(s, {grid({0, 4}, 0.4, 2), grid({4}, 0.7, 2), grid({4}, -1, 1)});
}

// ---- angles -------------------------------------------------------------------------------------

Tensor turn(const Tensor& x, const Tensor& y, const Tensor& dy) { return call<Turn>({x, y, dy}); }
Meta Turn::infer(const Args& a) { return float_result({&a.x, &a.y, &a.dy}); }
void Turn::cpu(const Args& a, Tensor& out) {
  map<false>(Turned{}, out.dtype(), out, a.x, a.y, a.dy);
}
// With u = x / (x^2 + y^2) and v likewise, the slopes of v are -2 u v and u^2 - v^2.
Turn::Args Turn::grad(const Back<Turn>& b) {
  const auto& [x, y, dy] = b.a;
  Args g{};
  if (b.need(&Args::dy)) g.dy = turn(x, y, b.dy);
  if (!b.need(&Args::x) && !b.need(&Args::y)) return g;
  const Tensor both = b.dy * dy;
  if (b.need(&Args::x)) g.x = turn(y, x, turn(x, y, both)) * -2;
  if (b.need(&Args::y)) g.y = turn(y, x, turn(y, x, both)) - turn(x, y, turn(x, y, both));
  return g;
}
void Turn::samples(SampleList& s) {
  add_sample<Turn>(s, {grid({3, 4}, -2, 2.1), grid({3, 4}, 0.3, 2), grid({3, 4}, -1, 1)});
  add_sample<Turn>(s, {strided(grid({3, 4}, -2, 2.1)), grid({4}, 0.3, 2), grid({3, 1}, -1, 1)});
  add_sample<Turn>(s, {grid({0, 4}, -2, 2.1), grid({4}, 0.3, 2), grid({4}, -1, 1)});
}

// ---- shares -------------------------------------------------------------------------------------

Tensor exponential_share(const Tensor& x, const Tensor& y, const Tensor& dy, double log_base) {
  return call<ExponentialShare>({x, y, dy, log_base});
}
Meta ExponentialShare::infer(const Args& a) { return float_result({&a.x, &a.y, &a.dy}); }
void ExponentialShare::cpu(const Args& a, Tensor& out) {
  map<false>(Shared{a.log_base}, out.dtype(), out, a.x, a.y, a.dy);
}
// The slope of a share is the share times what is left of it.
ExponentialShare::Args ExponentialShare::grad(const Back<ExponentialShare>& b) {
  const auto& [x, y, dy, log_base] = b.a;
  Args g{};
  if (b.need(&Args::dy)) g.dy = exponential_share(x, y, b.dy, log_base);
  if (!b.need(&Args::x) && !b.need(&Args::y)) return g;
  const Tensor own = exponential_share(x, y, b.dy * dy * log_base, log_base);
  g.x = exponential_share(y, x, own, log_base);
  g.y = -g.x;
  return g;
}
void ExponentialShare::samples(SampleList& s) {
  add_sample<ExponentialShare>(s, {grid({3, 4}, -2, 2), grid({3, 4}, -1, 1), grid({3, 4}, -1, 1)});
  add_sample<ExponentialShare>(
      s, {strided(grid({3, 4}, -2, 2)), grid({4}, -1, 1), grid({3, 1}, -1, 1), 0.7});
  add_sample<ExponentialShare>(s, {grid({0, 4}, -2, 2), grid({4}, -1, 1), grid({4}, -1, 1)});
}

Meta ExtremeShare::infer(const Args& a) {
  compared_as({&a.x, &a.y});
  return pointwise_meta({&a.x, &a.y, &a.dy}, a.dy.dtype());
}
void ExtremeShare::cpu(const Args& a, Tensor& out) {
  map<false>(SharedExtreme{a.of, a.second}, compared_as({&a.x, &a.y, &a.dy}), out, a.x, a.y, a.dy);
}
ExtremeShare::Args ExtremeShare::grad(const Back<ExtremeShare>& b) {
  Args g{};
  if (b.need(&Args::dy)) g.dy = call<ExtremeShare>({b.a.x, b.a.y, b.dy, b.a.of, b.a.second});
  if (b.need(&Args::x)) g.x = autograd::engine_ops().zeros_like(b.dy);
  if (b.need(&Args::y)) g.y = autograd::engine_ops().zeros_like(b.dy);
  return g;
}
void ExtremeShare::samples(SampleList& s) {
  const Tensor x = grid({3, 4}, -2, 2), y = grid({3, 4}, -1.9, 2.1), dy = grid({3, 4}, -1, 1);
  for (const Of of : {Of::max, Of::min, Of::fmax, Of::fmin})
    add_sample<ExtremeShare>(s, {x, y, dy, of, of == Of::min});
  add_sample<ExtremeShare>(s, {strided(x), Tensor::number(0.1), grid({4}, -1, 1)});
  add_sample<ExtremeShare>(s, {grid({0, 4}, -2, 2), grid({4}, -1, 1), grid({4}, -1, 1)});
}

Meta ClampShare::infer(const Args& a) {
  compared_as({&a.x, &a.low, &a.high});
  return pointwise_meta({&a.x, &a.low, &a.high, &a.dy}, a.dy.dtype());
}
void ClampShare::cpu(const Args& a, Tensor& out) {
  map<false>(SharedClamp{a.part, a.numbers}, compared_as({&a.x, &a.low, &a.high, &a.dy}), out, a.x,
             a.low, a.high, a.dy);
}
ClampShare::Args ClampShare::grad(const Back<ClampShare>& b) {
  const auto& [x, low, high, dy, part, numbers] = b.a;
  const auto none = [&] { return autograd::engine_ops().zeros_like(b.dy); };
  Args g{};
  if (b.need(&Args::dy)) g.dy = call<ClampShare>({x, low, high, b.dy, part, numbers});
  if (b.need(&Args::x)) g.x = none();
  if (b.need(&Args::low)) g.low = none();
  if (b.need(&Args::high)) g.high = none();
  return g;
}
void ClampShare::samples(SampleList& s) {
  const Tensor x = grid({3, 4}, -2, 2.1), low = grid({4}, -1, 0.4), high = grid({3, 1}, 0.5, 1.1),
               dy = grid({3, 4}, -1, 1);
  for (const Part part : {Part::x, Part::low, Part::high})
    add_sample<ClampShare>(s, {x, low, high, dy, part});
  add_sample<ClampShare>(
      s, {strided(x), Tensor::number(-1.0), Tensor::number(0.5), dy, Part::x, true});
  add_sample<ClampShare>(s, {grid({0, 4}, -2, 2), low, Tensor::number(2.0), grid({4}, -1, 1)});
}

OpFamily family_pointwise_grad() {
  return list_ops(OpList<Ratio, PowerSlope, Turn, ExponentialShare, ExtremeShare, ClampShare>{},
                  "pointwise");
}

}  // namespace rille
