#include "ops/scaled_mm.h"

#include "core/fail.h"
#include "cpu/gemm.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/register.h"
#include "ops/scales.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

using Args = ScaledMm::Args;

// Columns of b are decoded so many elements at a time: what is decoded stays in the cache, and b
// never takes four times its memory.
constexpr int64_t kPanel = int64_t{1} << 21;

std::optional<Tensor> turned(const std::optional<Tensor>& t) {
  return t && t->rank() == 2 ? std::optional(transpose(*t)) : t;
}

// ---- checks
// --------------------------------------------------------------------------------------

void check_factor(const Tensor& t, const char* field) {
  const DType d = t.dtype();
  if (category(d) != Category::floating || d == DType::f64)
    throw dtype_error("'{}' must be a float of 32 bits or fewer, got {}", field, name(d)).of(field);
  if (t.rank() != 2)
    throw shape_error("needs a matrix, got shape {}", to_string(t.shape())).of(field);
}

// Of a factor with m rows, or columns for b, whose scales lie as its elements do.
void check_scale(const std::optional<Tensor>& scale, int64_t m, int64_t k, const char* field,
                 const char* factor) {
  if (!scale) return;
  check_scale_dtype(*scale, field);
  const bool is_b = *factor == 'b';
  const Tensor look = is_b ? *turned(scale) : *scale;
  if (scale_fits(look, {m}, k)) return;
  const auto wanted = [&](int64_t blocks) {
    return is_b ? fmt::format("[{}, {}]", blocks, m) : fmt::format("[{}, {}]", m, blocks);
  };
  const auto blocks = [&](int64_t block) { return wanted((k + block - 1) / block); };
  throw shape_error("scales {} in {} don't fit {}", to_string(scale->shape()), name(scale->dtype()),
                    factor)
      .of(factor, field)
      .hint(fmt::format("a scale is one number, {} in f32, {} in f8_e8m0 or {} in f8_e4m3",
                        wanted(1), blocks(kMxBlock), blocks(kNvBlock)));
}

void check_bias(const Args& a) {
  if (!a.bias) return;
  if (!a.bias->is_float())
    throw dtype_error("'bias' must be f64, f32, f16 or bf16, got {}", name(a.bias->dtype()))
        .of("bias");
  if (a.bias->rank() != 1 || a.bias->size(0) != a.b.size(1))
    throw shape_error("bias {} does not fit b {}", to_string(a.bias->shape()),
                      to_string(a.b.shape()))
        .of("b", "bias");
}

// ---- one factor
// ----------------------------------------------------------------------------------

// Scales that change along k are part of a factor; the others can wait for the sums.
bool is_along_k(const std::optional<Tensor>& scale) {
  return scale && !is_single(*scale) && scale->size(-1) > 1;
}

// A factor in f32: row-major [rows, k], or turned [k, rows].
struct Decoded {
  Tensor t;
  bool is_turned;
};

// `m` is [rows, k], its scales, where they are part of it, [rows, blocks].
Decoded decoded(const Tensor& m, const std::optional<Tensor>& scale,
                const std::optional<Tensor>& global) {
  const int64_t rows = m.size(0), k = m.size(1);
  const bool scaled = is_along_k(scale);
  const bool is_turned = !scaled && m.strides()[0] == 1 && m.strides()[1] != 1;
  const Tensor look = is_turned ? transpose(m) : m;
  Tensor t = contiguous(cast(look, DType::f32));
  if (scaled) {
    if (t.storage().get() == m.storage().get()) t = clone(t);
    const Tensor values = scale_values(*scale, global);
    cpu::multiply_by_scales(t.data_as<float>(), rows, k, scale_grid(values, *scale, k));
  }
  return {t, is_turned};
}

// The factor of each of `rows` sums; empty where there is none.
Tensor late_scale(const std::optional<Tensor>& scale, const std::optional<Tensor>& global,
                  int64_t rows) {
  if (is_along_k(scale) || (!scale && !global)) return {};
  const Tensor one = full({}, 1, DType::f32);
  const Tensor s = scale_values(scale.value_or(one), global);
  return contiguous(expand(s.numel() == 1 ? reshape(s, {1}) : reshape(s, {rows}), {rows}));
}

const float* data_or_null(const Tensor& t) { return t ? t.data_as<float>() : nullptr; }

// sums = a @ b^T, b in panels of rows.
void product(const Decoded& a, int64_t m, const Tensor& b, const std::optional<Tensor>& scale,
             const std::optional<Tensor>& global, const Tensor& sums) {
  const int64_t n = b.size(0), k = b.size(1);
  const int64_t width = std::max<int64_t>(64, kPanel / std::max<int64_t>(k, 1));
  for (int64_t from = 0; from < n; from += width) {
    const int64_t count = std::min(width, n - from);
    const bool sliced = is_along_k(scale) && count < n;
    const Decoded panel =
        decoded(count < n ? narrow(b, 0, from, count) : b,
                sliced ? std::optional(narrow(*scale, 0, from, count)) : scale, global);
    cpu::Gemm g{.m = m, .n = count, .k = k};
    g.ta = a.is_turned ? cpu::Transpose::yes : cpu::Transpose::no;
    g.tb = panel.is_turned ? cpu::Transpose::no : cpu::Transpose::yes;
    g.lda = std::max<int64_t>(1, a.is_turned ? m : k);
    g.ldb = std::max<int64_t>(1, panel.is_turned ? count : k);
    g.ldc = n;
    cpu::gemm(DType::f32, g, a.t.data(), panel.t.data(), sums.data_as<float>() + from);
  }
}

}  // namespace

Meta ScaledMm::infer(const Args& a) {
  check_factor(a.a, "a");
  check_factor(a.b, "b");
  if (a.a.size(1) != a.b.size(0))
    throw shape_error("inner sizes differ: {} and {}", a.a.size(1), a.b.size(0)).of("a", "b");
  const int64_t m = a.a.size(0), k = a.a.size(1), n = a.b.size(1);
  check_scale(a.scale_a, m, k, "scale_a", "a");
  check_scale(a.scale_b, n, k, "scale_b", "b");
  check_global_scale(a.global_scale_a, "global_scale_a");
  check_global_scale(a.global_scale_b, "global_scale_b");
  check_bias(a);
  const DType d = a.dtype.value_or(a.a.dtype());
  if (category(d) != Category::floating)
    throw dtype_error("the result is a float, not {}", rille::name(d)).of("");
  return meta_of({m, n}, d, a.a);
}

double ScaledMm::flops(const Args& a) {
  return 2.0 * static_cast<double>(a.a.numel()) * static_cast<double>(a.b.size(1));
}
void ScaledMm::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  if (y.numel() == 0) return;
  const int64_t m = y.size(0), n = y.size(1);
  const std::optional<Tensor> scale_b = turned(a.scale_b);
  const Tensor sums =
      y.dtype() == DType::f32 ? y : Tensor::empty(y.shape(), DType::f32, y.device());
  product(decoded(a.a, a.scale_a, a.global_scale_a), m, transpose(a.b), scale_b, a.global_scale_b,
          sums);
  const Tensor rows = late_scale(a.scale_a, a.global_scale_a, m);
  const Tensor columns = late_scale(scale_b, a.global_scale_b, n);
  const Tensor bias = a.bias ? contiguous(cast(*a.bias, DType::f32)) : Tensor();
  const cpu::Finish finish{data_or_null(rows), data_or_null(columns), data_or_null(bias)};
  cpu::finish_product(sums.data_as<float>(), m, n, finish, y.dtype(), y.data());
}

Tensor ScaledMm::compose(const Args& a) {
  const Meta out = infer(a);
  const auto factor = [](const Tensor& t, const std::optional<Tensor>& scale,
                         const std::optional<Tensor>& global) {
    const Tensor values = cast(t, DType::f32);
    if (!scale && !global) return values;
    const Tensor one = full({}, 1, DType::f32);
    return values * spread_scales(scale.value_or(one), global, t.shape());
  };
  const Tensor left = factor(a.a, a.scale_a, a.global_scale_a);
  const Tensor right = factor(transpose(a.b), turned(a.scale_b), a.global_scale_b);
  const Tensor y = matmul(left, transpose(right));
  return cast(a.bias ? y + cast(*a.bias, DType::f32) : y, out.dtype);
}

// Few bits and scales that are powers of two: sums are exact, in whatever order they are made.
void ScaledMm::samples(SampleList& s) {
  const auto codes = [](const Shape& shape, DType d) { return cast(grid(shape, -2, 2), d); };
  const auto powers = [](const Shape& shape, DType d) {
    return cast(cast(cast(grid(shape, 0.25, 4), DType::f8_e8m0), DType::f32), d);
  };
  add_sample<ScaledMm>(s, {.a = codes({3, 8}, DType::f8_e4m3), .b = codes({8, 2}, DType::f8_e5m2)});
  add_sample<ScaledMm>(s, {.a = codes({3, 8}, DType::f8_e4m3),
                           .b = strided(codes({8, 4}, DType::f8_e4m3)),
                           .scale_a = powers({}, DType::f32),
                           .scale_b = powers({1, 4}, DType::f32),
                           .bias = cast(grid({4}, 0, 1), DType::bf16),
                           .dtype = DType::bf16});
  add_sample<ScaledMm>(s, {.a = codes({3, 40}, DType::f6_e2m3),
                           .b = codes({40, 4}, DType::f8_e4m3),
                           .scale_a = powers({3, 2}, DType::f8_e8m0),
                           .scale_b = powers({2, 4}, DType::f8_e8m0),
                           .dtype = DType::f32});
  add_sample<ScaledMm>(s, {.a = codes({2, 32}, DType::f4_e2m1),
                           .b = codes({32, 4}, DType::f4_e2m1),
                           .scale_a = powers({2, 2}, DType::f8_e4m3),
                           .scale_b = powers({2, 4}, DType::f8_e4m3),
                           .dtype = DType::f16,
                           .global_scale_a = powers({}, DType::f32)});
  add_sample<ScaledMm>(s, {.a = codes({3, 0}, DType::f8_e4m3),
                           .b = codes({0, 2}, DType::f8_e4m3),
                           .dtype = DType::f32});
  add_sample<ScaledMm>(s, {.a = codes({0, 8}, DType::f8_e4m3),
                           .b = codes({8, 2}, DType::f8_e4m3),
                           .dtype = DType::f32});
}

OpFamily family_scaled_mm() { return list_ops(OpList<ScaledMm>{}, "matmul"); }

}  // namespace rille
