#include "ops/quantize.h"

#include <cmath>
#include <limits>

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/stochastic.h"
#include "ops/arrange.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/extreme.h"
#include "ops/families.h"
#include "ops/register.h"
#include "ops/rounding.h"
#include "ops/scales.h"
#include "ops/select.h"
#include "ops/view.h"

namespace rille {
namespace {

constexpr int64_t kPart = 4096;  // elements of a tensor whose largest magnitude is found at once

float largest(DType d) { return static_cast<float>(float_info(d).max); }

// x as [rows, n], a single value as one row.
struct Rows {
  int64_t rows, n;
};
Rows rows_of(const Shape& s) {
  return {numel_of_dims(s, 0, s.size() - 1), s.empty() ? 1 : s.back()};
}
Shape lead_of(const Shape& s) { return Shape(s.begin(), s.end() - std::min(s.size(), 1)); }

void check_float(const Tensor& x) {
  if (!x.is_float())
    throw dtype_error("'x' must be f64, f32, f16 or bf16, got {}", name(x.dtype())).of("x");
}

void check_fits(const Tensor& x, const Tensor& scale) {
  check_scale_dtype(scale, "scale");
  const Shape lead = lead_of(x.shape());
  const int64_t n = x.rank() ? x.shape().back() : 1;
  if (!scale_fits(scale, lead, n))
    throw shape_error("scales {} don't fit x {}", to_string(scale.shape()), to_string(x.shape()))
        .of("x", "scale")
        .hint(fitting_scales(lead, n));
}

// ---- scales that are to be made
// ------------------------------------------------------------------

int64_t block_size(const Quantize::Args& a) {
  return a.block.value_or(a.dtype == DType::f4_e2m1 ? kNvBlock : kMxBlock);
}
DType scale_dtype(const Quantize::Args& a) {
  if (a.per != Granularity::block) return DType::f32;
  const int64_t block = block_size(a);
  return block == kMxBlock ? DType::f8_e8m0 : block == kNvBlock ? DType::f8_e4m3 : DType::f32;
}

Shape scale_shape(const Quantize::Args& a) {
  if (a.per == Granularity::tensor) return {};
  if (a.x.rank() == 0) throw shape_error("a single value has no rows").of("x");
  Shape s = lead_of(a.x.shape());
  const int64_t n = a.x.shape().back(), block = block_size(a);
  if (a.per == Granularity::row) {
    s.push_back(1);
    return s;
  }
  must_be_within(block, 1, kFar, "block");
  if (scale_dtype(a) == DType::f32 && (n == 0 || n % block))
    throw shape_error("rows of {} don't divide into blocks of {}", n, block)
        .of("x")
        .hint("only blocks of 32 and of 16 may end with a shorter one");
  s.push_back(pieces(n, block));
  return s;
}

// What values are divided by, where `amax` is the largest of them: 1 where all are 0, and nan where
// one is not finite, so that it is seen in whatever is computed from them.
float scale_of(float amax, float most) {
  if (!std::isfinite(amax)) return std::numeric_limits<float>::quiet_NaN();
  return amax == 0 ? 1.0f : amax / most;
}

// The power of two at x or above it. Below 2^-127, the least of f8_e8m0, that one.
float power_of_two_above(float x) {
  if (!std::isfinite(x)) return x;
  int exponent = 0;
  const float fraction = std::frexp(x, &exponent);
  return std::ldexp(1.0f, std::max(-127, fraction == 0.5f ? exponent - 1 : exponent));
}

float amax_of(const float* x, int64_t n) {
  const Tensor parts = Tensor::empty({(n + kPart - 1) / kPart});
  const int64_t count = parts.numel();
  float most = 0;
  cpu::block_amax(x, 1, n, kPart, parts.data_as<float>());
  cpu::block_amax(parts.data_as<float>(), 1, count, std::max<int64_t>(count, 1), &most);
  return most;
}

// Scales of the rows or blocks of x, in f32, before they are rounded to their dtype.
Tensor raw_scales(const Quantize::Args& a, const Tensor& x, const Shape& shape, float global) {
  const Tensor out = Tensor::empty(shape);
  float* s = out.data_as<float>();
  const auto [rows, n] = rows_of(x.shape());
  const int64_t block = a.per == Granularity::row ? std::max<int64_t>(n, 1) : block_size(a);
  std::fill(s, s + out.numel(), 0.0f);
  cpu::block_amax(x.data_as<float>(), rows, n, block, s);
  const DType d = scale_dtype(a);
  const float most = largest(a.dtype);
  Poll poll;
  for (int64_t i = 0; i < out.numel(); ++i, poll(1)) {
    if (d == DType::f8_e4m3)
      s[i] = s[i] / most / global;
    else
      s[i] = scale_of(s[i], most);
    if (d == DType::f8_e8m0) s[i] = power_of_two_above(s[i]);
  }
  return out;
}

// Block scales of f8_e4m3 take in what lies between blocks, the global one the size of all.
float global_scale_of(float amax, DType dtype) {
  return scale_of(amax, largest(dtype) * largest(DType::f8_e4m3));
}

void make_scales(const Quantize::Args& a, const Tensor& x, Quantize::Out& y) {
  float global = 1;
  if (a.per == Granularity::tensor) {
    *y.scale.data_as<float>() = scale_of(amax_of(x.data_as<float>(), x.numel()), largest(a.dtype));
  } else {
    if (y.scale.dtype() == DType::f8_e4m3)
      global = global_scale_of(amax_of(x.data_as<float>(), x.numel()), a.dtype);
    copy_(y.scale, raw_scales(a, x, y.scale.shape(), global));
  }
  *y.global_scale.data_as<float>() = global;
}

}  // namespace

// ---- quantize
// ------------------------------------------------------------------------------------

std::array<Meta, 3> Quantize::infer(const Args& a) {
  check_float(a.x);
  if (!is_narrow(a.dtype) || a.dtype == DType::f8_e8m0)
    throw dtype_error("codes are f8_e4m3, f8_e5m2, f6_e3m2, f6_e2m3 or f4_e2m1, not {}",
                      rille::name(a.dtype))
        .of("");
  if (a.block && a.per != Granularity::block)
    throw option_error("'block' goes with per = 'block'").of("");
  if (a.global_scale && !a.scale)
    throw option_error("'global_scale' goes with a 'scale'; without one both are made").of("");
  check_global_scale(a.global_scale, "global_scale");
  Meta scale = meta_of({}, DType::f32, a.x);
  if (a.scale) {
    check_fits(a.x, *a.scale);
    scale = meta_of(a.scale->shape(), a.scale->is_number() ? DType::f32 : a.scale->dtype(), a.x);
    if (a.per != Granularity::tensor && scale_shape(a) != scale.shape)
      throw shape_error("per = '{}' takes scales {}, got {}",
                        names_of(a.per)[static_cast<size_t>(a.per)], to_string(scale_shape(a)),
                        to_string(scale.shape))
          .of("x", "scale");
  } else {
    scale = meta_of(scale_shape(a), scale_dtype(a), a.x);
  }
  return {meta_of(a.x.shape(), a.dtype, a.x), scale, meta_of({}, DType::f32, a.x)};
}

void Quantize::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  const Tensor x = contiguous(cast(a.x, DType::f32));
  if (a.scale) {
    copy_(y.scale, *a.scale);
    copy_(y.global_scale, a.global_scale.value_or(Tensor::number(1.0)));
  } else {
    make_scales(a, x, y);
  }
  const Tensor values = scale_values(y.scale, y.global_scale);
  const auto [rows, n] = rows_of(x.shape());
  const cpu::ScaleGrid grid = scale_grid(values, y.scale, n);
  const FloatInfo& format = float_info(a.dtype);
  const cpu::ScaledRange range{largest(a.dtype), format.has_inf, !format.has_nan};
  if (format.has_nan)
    return cpu::quantize(x.data_as<float>(), rows, n, grid, range, a.dtype, y.q.data());
  const Tensor z = Tensor::empty(x.shape(), DType::f32, x.device());
  cpu::divide_by_scales(x.data_as<float>(), rows, n, grid, range, z.data_as<float>());
  const int64_t lost = cpu::first_nan(DType::f32, z.data(), z.numel());
  if (lost >= 0)
    throw fail(Kind::dtype, "E_NAN_UNREPRESENTABLE",
               "element {} of x is not finite, and {} has no nan", lost + 1, rille::name(a.dtype))
        .of("x")
        .hint("without a 'scale' of yours the scale becomes nan and tells it");
  copy_(y.q, z);
}

namespace {

Tensor abs_of(const Tensor& x) { return call<Abs>({x}); }
Tensor amax(const Tensor& x, const Axes& dims, bool keepdim) {
  if (x.numel() == 0) return full({}, 0, DType::f32, x.device());
  return call<Amax>({.x = x, .dims = dims, .keepdim = keepdim});
}
Tensor is_finite(const Tensor& x) { return call<IsFinite>({x}); }
Tensor constant(const Tensor& like, double value) {
  return full(like.shape(), value, DType::f32, like.device());
}

// scale_of, in other ops.
Tensor composed_scale(const Tensor& most_of_x, double most) {
  const Tensor s =
      where(call<Eq>({most_of_x, Tensor::number(0.0)}), constant(most_of_x, 1), most_of_x / most);
  return where(is_finite(most_of_x), s, constant(s, NAN));
}

// The power of two at x or above it: a cast to the format of powers of two goes to the nearest.
Tensor composed_power_above(const Tensor& x) {
  const Tensor near = cast(cast(x, DType::f8_e8m0), DType::f32);
  return where(call<Lt>({near, x}), near * 2.0, near);
}

Tensor block_amax_of(const Tensor& x, int64_t block) {
  const int64_t n = x.size(-1), blocks = pieces(n, block);
  Shape shape = lead_of(x.shape());
  shape.push_back(blocks);
  shape.push_back(block);
  return amax(reshape(pad(abs_of(x), {0, Checked(blocks) * block - n}), shape), {-1}, false);
}

// Scales that are made follow the values; gradients reach only those that were given.
Quantize::Out composed_scales(const Quantize::Args& a, const Tensor& x) {
  const NoGrad quiet;
  const double most = float_info(a.dtype).max;
  const Tensor one = full({}, 1, DType::f32, x.device());
  if (a.per == Granularity::tensor)
    return {{}, composed_scale(amax(abs_of(x), {}, false), most), one};
  if (a.per == Granularity::row)
    return {{}, composed_scale(amax(abs_of(x), {-1}, true), most), one};
  const Tensor blocks = block_amax_of(x, block_size(a));
  const DType d = scale_dtype(a);
  if (d == DType::f32) return {{}, composed_scale(blocks, most), one};
  if (d == DType::f8_e8m0)
    return {{}, cast(composed_power_above(composed_scale(blocks, most)), d), one};
  const Tensor global = composed_scale(amax(blocks, {}, false), most * largest(DType::f8_e4m3));
  return {{}, cast(blocks / most / global, d), global};
}

}  // namespace

Quantize::Out Quantize::compose(const Args& a) {
  infer(a);
  const Tensor x = cast(a.x, DType::f32);
  Out y = a.scale ? Out{{},
                        cast(*a.scale, a.scale->is_number() ? DType::f32 : a.scale->dtype()),
                        cast(a.global_scale.value_or(Tensor::number(1.0)), DType::f32)}
                  : composed_scales(a, x);
  const FloatInfo& format = float_info(a.dtype);
  const Tensor s = spread_scales(y.scale, y.global_scale, x.shape());
  const Tensor divided = where(call<Eq>({s, Tensor::number(0.0)}), constant(x, 0), x / s);
  // Not a clamp, whose gradient is 0 at the bounds: the largest code loses nothing.
  const Tensor most = Tensor::number(format.max), least = Tensor::number(-format.max);
  Tensor z = where(call<Gt>({divided, most}), most, divided);
  z = where(call<Lt>({divided, least}), least, z);
  z = where(is_finite(x), z, format.has_inf ? x : constant(x, NAN));
  if (!format.has_nan) z = where(call<IsNan>({s}), constant(x, 0), z);
  y.q = cast(z, a.dtype);
  return y;
}

void Quantize::samples(SampleList& s) {
  const auto add = [&](const Tensor& x, DType d, Granularity per, std::optional<int64_t> block) {
    add_sample<Quantize>(s, {.x = x, .dtype = d, .per = per, .block = block}).gradient = false;
  };
  add(grid({3, 40}, -3, 2), DType::f8_e4m3, Granularity::tensor, {});
  add(grid({}, 0, 2), DType::f8_e5m2, Granularity::tensor, {});
  add(strided(grid({4, 6}, -1, 1)), DType::f8_e5m2, Granularity::row, {});
  add(grid({2, 3, 70}, -3, 2), DType::f8_e4m3, Granularity::block, {});
  add(grid({2, 36}, -3, 2), DType::f4_e2m1, Granularity::block, {});
  add(grid({2, 32}, -3, 2), DType::f4_e2m1, Granularity::block, kMxBlock);
  add(grid({3, 24}, -3, 2), DType::f6_e2m3, Granularity::block, 8);
  add(grid({0, 24}, -3, 2), DType::f8_e4m3, Granularity::tensor, {});
  add_sample<Quantize>(
      s, {.x = grid({2, 8}, -3, 2), .dtype = DType::f6_e3m2, .scale = full({}, 0.125, DType::f32)})
      .gradient = false;
}

// ---- dequantize
// ----------------------------------------------------------------------------------

Meta Dequantize::infer(const Args& a) {
  if (category(a.x.dtype()) != Category::floating)
    throw dtype_error("'x' must be a float tensor, got {}", rille::name(a.x.dtype())).of("x");
  if (!is_float(a.dtype))
    throw dtype_error("the result is f64, f32, f16 or bf16, not {}", rille::name(a.dtype)).of("");
  check_fits(a.x, a.scale);
  check_global_scale(a.global_scale, "global_scale");
  return meta_of(a.x.shape(), a.dtype, a.x);
}
void Dequantize::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const bool direct = y.dtype() == DType::f32;
  const Tensor out = direct ? y : Tensor::empty(y.shape(), DType::f32, y.device());
  copy_(out, a.x);
  const auto [rows, n] = rows_of(a.x.shape());
  const Tensor values = scale_values(a.scale, a.global_scale);
  cpu::multiply_by_scales(out.data_as<float>(), rows, n, scale_grid(values, a.scale, n));
  if (!direct) copy_(y, out);
}
Tensor Dequantize::compose(const Args& a) {
  infer(a);
  const Tensor s = spread_scales(a.scale, a.global_scale, a.x.shape());
  return cast(cast(a.x, DType::f32) * s, a.dtype);
}
void Dequantize::samples(SampleList& s) {
  const auto codes = [](const Shape& shape, DType d) { return cast(grid(shape, -3, 3), d); };
  const auto scales = [](const Shape& shape, DType d) { return cast(grid(shape, 0.1, 2), d); };
  add_sample<Dequantize>(
      s,
      {.x = codes({3, 5}, DType::f8_e4m3), .scale = scales({}, DType::f32), .dtype = DType::bf16});
  add_sample<Dequantize>(s,
                         {.x = codes({3, 5}, DType::f8_e5m2), .scale = scales({3, 1}, DType::f32)});
  add_sample<Dequantize>(
      s, {.x = codes({3, 40}, DType::f6_e3m2), .scale = scales({3, 2}, DType::f8_e8m0)});
  add_sample<Dequantize>(s, {.x = codes({3, 32}, DType::f4_e2m1),
                             .scale = scales({3, 2}, DType::f8_e4m3),
                             .global_scale = scales({}, DType::f32)});
  add_sample<Dequantize>(
      s, {.x = codes({0, 32}, DType::f8_e4m3), .scale = scales({0, 1}, DType::f32)});
}

// ---- amax_scale
// ----------------------------------------------------------------------------------

namespace {

constexpr float kLargestScale = std::numeric_limits<float>::max();

float power_of_two_below(float x) {
  if (!std::isfinite(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(1.0f, exponent - 1);
}

}  // namespace

Meta AmaxScale::infer(const Args& a) {
  check_float(a.x);
  if (category(a.dtype) != Category::floating)
    throw dtype_error("a float has a range to fill, {} has none", rille::name(a.dtype)).of("");
  return meta_of({}, DType::f32, a.x);
}
void AmaxScale::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const Tensor x = contiguous(cast(a.x, DType::f32));
  const float most = amax_of(x.data_as<float>(), x.numel());
  float scale = most == 0 ? 1.0f : std::min(largest(a.dtype) / most, kLargestScale);
  if (!std::isfinite(most)) scale = std::numeric_limits<float>::quiet_NaN();
  *y.data_as<float>() = a.power_of_two ? power_of_two_below(scale) : scale;
}
Tensor AmaxScale::compose(const Args& a) {
  infer(a);
  const Tensor most = amax(abs_of(cast(a.x, DType::f32)), {}, false);
  Tensor s =
      call<Clamp>({.x = largest(a.dtype) / most, .max = Tensor::number(double{kLargestScale})});
  s = where(call<Eq>({most, Tensor::number(0.0)}), constant(most, 1), s);
  s = where(is_finite(most), s, constant(most, NAN));
  if (!a.power_of_two) return s;
  const Tensor near = cast(cast(s, DType::f8_e8m0), DType::f32);
  return where(call<Gt>({near, s}), near / 2.0, near);
}
// In f32 alone, which differences of f64 arguments can't see through.
void AmaxScale::samples(SampleList& s) {
  const auto add = [&](const Tensor& x, DType d, bool power) {
    add_sample<AmaxScale>(s, {.x = x, .dtype = d, .power_of_two = power}).gradient = false;
  };
  add(grid({3, 40}, -3, 2), DType::f8_e4m3, false);
  add(strided(grid({4, 6}, -1, 1)), DType::f8_e4m3, true);
  add(grid({}, 2, 3), DType::f8_e5m2, false);
  add(grid({0, 2}, 0, 1), DType::f4_e2m1, false);
}

OpFamily family_quantize() {
  return list_ops(OpList<Quantize, Dequantize, AmaxScale>{}, "quantize");
}

}  // namespace rille
