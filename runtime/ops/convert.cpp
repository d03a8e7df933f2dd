#include "ops/convert.h"

#include <algorithm>
#include <cmath>

#include "core/fail.h"
#include "cpu/pointwise.h"
#include "cpu/stochastic.h"
#include "ops/cast.h"
#include "ops/pointwise_kernels.h"

namespace rille {
namespace {

/// The place of a row-major element as scripts count: {2, 1}.
std::string place_of(int64_t element, const Shape& shape) {
  std::vector<int64_t> place(static_cast<size_t>(shape.size()));
  for (int d = shape.size() - 1; d >= 0; --d) {
    place[static_cast<size_t>(d)] = element % shape[d] + 1;
    element /= shape[d];
  }
  return fmt::format("{{{}}}", fmt::join(place, ", "));
}

bool has_nan(DType d) { return category(d) == Category::floating && float_info(d).has_nan; }

void refuse_nan(const Tensor& given, DType to) {
  if (!has_nan(given.dtype()) || given.is_meta()) return;
  const NoGrad quiet;
  const Tensor x = contiguous(given);
  const int64_t found = cpu::first_nan(x.dtype(), x.data(), x.numel());
  if (found < 0) return;
  if (x.rank() == 0)
    throw fail(Kind::dtype, "E_NAN_UNREPRESENTABLE", "the value is nan, which {} does not have",
               name(to));
  throw fail(Kind::dtype, "E_NAN_UNREPRESENTABLE", "'x' holds nan at {}, and becomes {}",
             place_of(found, x.shape()), name(to))
      .of("x")
      .hint("nan = 'zero' makes it 0");
}

template <class A>
void refuse_nan(const A& a) {
  if (a.nan == NanRule::error) refuse_nan(a.x, a.dtype);
  if (a.nan == NanRule::propagate) refuse_lost_nan(a.x, a.dtype);
}

template <class A>
void check_range_rule(const A& a) {
  if (!a.overflow) return;
  if (a.saturate) throw option_error("takes 'saturate' or 'overflow', not both");
  if (!is_narrow(a.dtype)) return;
  const FloatInfo& f = float_info(a.dtype);
  if (!f.has_nan && !f.has_inf)
    throw option_error("{} has neither inf nor nan: it always saturates", name(a.dtype));
}

template <class T, class A>
cpu::Bounded<T> bounds_of(const A& a) {
  cpu::Bounded<T> bounds{.zero_nan = a.nan == NanRule::zero};
  if (category(a.dtype) != Category::floating) return bounds;
  const FloatInfo& f = float_info(a.dtype);
  if (a.saturate || f.saturates) bounds.limit = static_cast<T>(f.max);
  // Half a step above the largest value a tie still goes down to it, whose code is even.
  if (a.overflow && f.saturates)
    bounds.lost = static_cast<T>(f.max + std::exp2(std::ilogb(f.max) - f.mant_bits - 1));
  return bounds;
}

struct Clamped {
  int64_t low, high;
  int64_t operator()(int64_t x) const { return std::clamp(x, low, high); }
};

// Floats become integers saturated by the store; integers wrap in it, unless they are clamped
// first.
template <class A>
void convert_by_rule(const A& a, Tensor& y) {
  refuse_nan(a);
  const DType from = cpu::compute_type(a.x.dtype()), to = cpu::compute_type(a.dtype);
  if (from == DType::i64 && to == DType::i64) {
    IntInfo range = int_info(DType::i64);
    if (a.saturate && is_integer(a.dtype)) range = int_info(a.dtype);
    return map_as<int64_t, int64_t>(Clamped{range.min, range.max}, y, a.x);
  }
  if (from == DType::f32 && to == DType::f32)
    return map_as<float, float>(bounds_of<float>(a), y, a.x);
  map_as<double, double>(bounds_of<double>(a), y, a.x);
}

}  // namespace

void refuse_lost_nan(const Tensor& x, DType to) {
  if (is_narrow(to) && !has_nan(to)) refuse_nan(x, to);
}

Meta Convert::infer(const Args& a) {
  check_range_rule(a);
  return like(a.x, a.dtype);
}
void Convert::cpu(const Args& a, Tensor& y) { convert_by_rule(a, y); }
Convert::Args Convert::grad(const Back<Convert>& b) {
  return {.x = b.dy, .dtype = {}};  // fit_gradient casts
}
void Convert::samples(SampleList& s) {
  add_sample<Convert>(s, {.x = grid({3, 4}, -3, 3), .dtype = DType::f64, .saturate = true});
  add_sample<Convert>(s, {.x = strided(grid({3, 4}, -3, 3)), .dtype = DType::f64});
  add_sample<Convert>(
      s,
      {.x = grid({3, 4}, -1e5, 1e5), .dtype = DType::f16, .saturate = true, .nan = NanRule::zero})
      .gradient = false;
  add_sample<Convert>(s, {.x = grid({0, 3}, -1, 1), .dtype = DType::bf16, .nan = NanRule::error})
      .gradient = false;
  add_sample<Convert>(s, {.x = ids({5}, 1000), .dtype = DType::i8, .saturate = true});
  for (const DType d : {DType::f8_e4m3, DType::f8_e5m2, DType::f6_e2m3, DType::f4_e2m1})
    add_sample<Convert>(s, {.x = strided(grid({3, 4}, -9, 9)), .dtype = d}).gradient = false;
}

Meta ConvertDrawn::infer(const Args& a) {
  if (category(a.dtype) != Category::floating)
    throw dtype_error("stochastic rounding is for float dtypes, got {}", rille::name(a.dtype));
  check_range_rule(a);
  return meta_of(a.x.shape(), a.dtype, a.x);
}
void ConvertDrawn::cpu(const Args& a, Tensor& y) {
  if (a.dtype == DType::f64) return convert_by_rule(a, y);  // holds every other dtype's values
  refuse_nan(a);
  const NoGrad quiet;
  const Tensor x = contiguous(a.x);
  cpu::round_stochastic(x.dtype(), x.data(), y.dtype(), y.data(), x.numel(), bounds_of<double>(a),
                        {a.draw.seed, a.draw.number, 0});
}
ConvertDrawn::Args ConvertDrawn::grad(const Back<ConvertDrawn>& b) {
  return {.x = b.dy, .dtype = {}};  // fit_gradient casts
}
void ConvertDrawn::samples(SampleList& s) {
  add_sample<ConvertDrawn>(s, {.x = grid({3, 4}, -3, 3), .dtype = DType::f64});
  for (const DType d : {DType::f16, DType::bf16, DType::f8_e5m2, DType::f4_e2m1})
    add_sample<ConvertDrawn>(s, {.x = strided(grid({3, 40}, -3, 3)), .dtype = d}).gradient = false;
}

}  // namespace rille
