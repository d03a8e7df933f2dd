#include "ops/norm.h"

#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/rows.h"
#include "ops/cast.h"
#include "ops/checks.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/math.h"
#include "ops/norm_parts.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/view.h"

namespace rille {
namespace {

constexpr int64_t kX = kNormX, kWeight = kNormWeight, kBias = kNormBias;

DType accumulator(DType d) { return d == DType::f64 ? DType::f64 : DType::f32; }

Shape last_dims(const Shape& s, int64_t dims) { return Shape(s.end() - dims, s.end()); }

// What is normalised: `shape` if given, else the shape of weight or bias, else the last dim.
template <class A>
Shape normalised_shape(const A& a) {
  if (a.shape) return a.shape->list;
  if (a.weight) return a.weight->shape();
  if constexpr (requires { a.bias; }) {
    if (a.bias) return a.bias->shape();
  }
  return last_dims(a.x.shape(), a.x.rank() > 0);
}

void check_affine(const char* what, const std::optional<Tensor>& t, const Shape& shape) {
  if (!t) return;
  if (t->shape() != shape)
    throw shape_error("'{}' must have shape {}, got {}", what, to_string(shape),
                      to_string(t->shape()))
        .of("x", what);
  if (!t->is_float())
    throw dtype_error("'{}' must be a float tensor, got {}", what, name(t->dtype())).of(what);
}

// Raises what is wrong with x and the dims. Returns the shape that is normalised.
template <class A>
Shape check_rows(const A& a) {
  if (!a.x.is_float())
    throw dtype_error("'x' must be a float tensor, got {}", name(a.x.dtype()))
        .of("x")
        .hint("x:to 'f32'");
  const Shape shape = normalised_shape(a);
  if (shape.empty()) throw shape_error("there is no dim to normalise");
  const int n = shape.size();
  if (n > a.x.rank() || last_dims(a.x.shape(), n) != shape)
    throw shape_error("the last dims of x must be {}, got {}", to_string(shape),
                      to_string(a.x.shape()))
        .of("x");
  check_affine("weight", a.weight, shape);
  return shape;
}

// x as rows x n.
struct Rows {
  int64_t rows, n;
};
Rows rows_of(const Shape& s, int64_t dims) {
  const int last = s.size() - static_cast<int>(dims);
  return {numel_of_dims(s, 0, last), numel_of_dims(s, last)};
}

// A statistic of each row.
Meta stat_meta(const Tensor& x, int64_t rows) { return meta_of({rows}, accumulator(x.dtype()), x); }
Tensor stat(const Tensor& x, int64_t rows) { return Tensor::empty(stat_meta(x, rows)); }
void* data_or_null(const Tensor& t, bool wanted) { return wanted ? t.data() : nullptr; }

// ---- in other ops: statistics are worked out anew, so that gradients flow through them
// ----------------

Axes row_axes(int64_t dims) {
  Axes a;
  a.all = false;
  for (int64_t d = -dims; d < 0; ++d) a.list.push_back(d);
  return a;
}
Axes batch_axes(int rank, int64_t dims) {
  Axes a;
  a.all = false;
  for (int64_t d = 0; d < rank - dims; ++d) a.list.push_back(d);
  return a;
}

Tensor mean_row(const Tensor& x, int64_t dims) {
  return call<Mean>({.x = x, .dims = row_axes(dims), .keepdim = true});
}
// Summed over the rows, in the shape of a weight.
Tensor sum_rows(const Tensor& x, int64_t dims) {
  if (x.rank() == dims) return x;
  return call<Sum>({.x = x, .dims = batch_axes(x.rank(), dims)});
}

struct Normalised {
  Tensor xhat, rstd;
};
Normalised normalise(const Tensor& x, int64_t dims, double eps, bool centre) {
  const Tensor d = centre ? x - mean_row(x, dims) : x;
  const Tensor rstd = call<Rsqrt>({mean_row(d * d, dims) + eps});
  return {d * rstd, rstd};
}

Tensor nothing(const Tensor& x, DType d) { return full({0}, 0, d, x.device()); }

// dx, dweight and dbias of y = xhat * weight + bias.
LayerNormGrad::Out compose_grads(const Tensor& x, const Tensor& dy,
                                 const std::optional<Tensor>& weight, double eps, int64_t dims,
                                 int64_t wanted, DType affine, bool centre) {
  const DType wide = promote(accumulator(x.dtype()), dy.dtype());
  const Normalised r = normalise(cast(x, wide), dims, eps, centre);
  const Tensor dwide = cast(dy, wide);
  LayerNormGrad::Out out{nothing(x, x.dtype()), nothing(x, affine), nothing(x, affine)};
  if (wanted & kX) {
    const Tensor g = weight ? dwide * cast(*weight, wide) : dwide;
    Tensor d = g - r.xhat * mean_row(g * r.xhat, dims);
    if (centre) d = d - mean_row(g, dims);
    out.dx = cast(r.rstd * d, x.dtype());
  }
  if (wanted & kWeight) out.dweight = cast(sum_rows(dwide * r.xhat, dims), affine);
  if (wanted & kBias) out.dbias = cast(sum_rows(dwide, dims), affine);
  return out;
}

// What the gradients rely on: a statistic for each row, a weight for each column.
template <class A>
void check_grad(const A& a) {
  must_be_float(a.x, "x");
  must_be_within(a.dims, 1, a.x.rank(), "dims");
  must_have_shape(a.dy, a.x.shape(), "dy");
  const auto check_stat = [&](const Tensor& t, std::string_view what) {
    must_have_dtype(t, accumulator(a.x.dtype()), what);
    must_have_shape(t, {rows_of(a.x.shape(), a.dims).rows}, what);
  };
  if constexpr (requires { a.mean; }) check_stat(a.mean, "mean");
  check_stat(a.rstd, "rstd");
  check_affine("weight", a.weight, last_dims(a.x.shape(), a.dims));
  if constexpr (requires { a.affine_dtype; }) must_be_float(a.affine_dtype, "affine_dtype");
}

Meta grad_meta(const Tensor& x, const Shape& shape, DType d, bool wanted) {
  return meta_of(wanted ? shape : Shape{0}, d, x);
}

}  // namespace

// ---- layer_norm
// ----------------------------------------------------------------------------------

Meta LayerNorm::infer(const Args& a) {
  check_affine("bias", a.bias, check_rows(a));
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
std::array<Meta, 2> LayerNorm::saved_meta(const Args& a) {
  const Meta m = stat_meta(a.x, rows_of(a.x.shape(), normalised_shape(a).size()).rows);
  return {m, m};
}
void LayerNorm::cpu(const Args& a, Tensor& y, Saved* saved) {
  const NoGrad quiet;
  const auto [rows, n] = rows_of(a.x.shape(), normalised_shape(a).size());
  if (saved) *saved = {stat(a.x, rows), stat(a.x, rows)};
  const Tensor x = contiguous(a.x);
  const AffineOperands affine(a.weight, a.bias, affine_dtype(a.weight, a.bias, x.dtype()));
  cpu::layer_norm(x.dtype(), x.data(), affine.raw, a.eps, y.data(),
                  saved ? saved->mean.data() : nullptr, saved ? saved->rstd.data() : nullptr, rows,
                  n);
}
Tensor LayerNorm::compose(const Args& a) {
  const Shape shape = check_rows(a);
  check_affine("bias", a.bias, shape);
  const DType wide = accumulator(a.x.dtype());
  Tensor y = normalise(cast(a.x, wide), shape.size(), a.eps, true).xhat;
  if (a.weight) y = y * cast(*a.weight, wide);
  if (a.bias) y = y + cast(*a.bias, wide);
  return cast(y, a.x.dtype());
}
LayerNorm::Args LayerNorm::grad(const Back<LayerNorm>& b) {
  const auto& a = b.a;
  const bool w = b.need(&Args::weight), shift = b.need(&Args::bias);
  const int64_t wanted = (b.need(&Args::x) ? kX : 0) | (w ? kWeight : 0) | (shift ? kBias : 0);
  auto g = call<LayerNormGrad>({.x = a.x,
                                .dy = b.dy,
                                .mean = b.saved.mean,
                                .rstd = b.saved.rstd,
                                .weight = a.weight,
                                .eps = a.eps,
                                .dims = normalised_shape(a).size(),
                                .wanted = wanted,
                                .affine_dtype = affine_dtype(a.weight, a.bias, a.x.dtype())});
  Args out;
  if (wanted & kX) out.x = g.dx;
  if (w) out.weight = g.dweight;
  if (shift) out.bias = g.dbias;
  return out;
}
void LayerNorm::samples(SampleList& s) {
  add_sample<LayerNorm>(
      s, {.x = grid({3, 4}, -2, 2), .weight = grid({4}, 0.5, 1.5), .bias = grid({4}, -1, 1)});
  add_sample<LayerNorm>(
      s, {.x = strided(grid({3, 5}, -2, 2)), .weight = grid({5}, 0.5, 1.5), .eps = 1e-3});
  add_sample<LayerNorm>(s, {.x = grid({2, 2, 3}, -2, 2), .bias = grid({2, 3}, -1, 1)});
  add_sample<LayerNorm>(s, {.x = grid({3, 2, 2}, -2, 2), .shape = Sizes{2, 2}});
  add_sample<LayerNorm>(s, {.x = grid({6}, -2, 2)});
  add_sample<LayerNorm>(
      s, {.x = grid({0, 3}, -2, 2), .weight = grid({3}, 0.5, 1.5), .bias = grid({3}, -1, 1)});
}

std::array<Meta, 3> LayerNormGrad::infer(const Args& a) {
  check_grad(a);
  const Shape shape = last_dims(a.x.shape(), a.dims);
  return {grad_meta(a.x, a.x.shape(), a.x.dtype(), a.wanted & kX),
          grad_meta(a.x, shape, a.affine_dtype, a.wanted & kWeight),
          grad_meta(a.x, shape, a.affine_dtype, a.wanted & kBias)};
}
void LayerNormGrad::cpu(const Args& a, Out& out) {
  const NoGrad quiet;
  const auto [rows, n] = rows_of(a.x.shape(), a.dims);
  const Tensor x = contiguous(a.x), dy = contiguous(cast(a.dy, a.x.dtype()));
  const Tensor mean = contiguous(a.mean), rstd = contiguous(a.rstd);
  const AffineOperands affine(a.weight, {}, a.affine_dtype);
  const cpu::NormGrads grads{data_or_null(out.dx, a.wanted & kX),
                             data_or_null(out.dweight, a.wanted & kWeight),
                             data_or_null(out.dbias, a.wanted & kBias)};
  cpu::layer_norm_backward(x.dtype(), x.data(), dy.data(), affine.raw, mean.data(), rstd.data(),
                           grads, rows, n);
}
LayerNormGrad::Out LayerNormGrad::compose(const Args& a) {
  return compose_grads(a.x, a.dy, a.weight, a.eps, a.dims, a.wanted, a.affine_dtype, true);
}
void LayerNormGrad::samples(SampleList&) {}

// ---- rms_norm
// ------------------------------------------------------------------------------------

namespace {

double eps_of(const std::optional<double>& eps, const Tensor& x) {
  return eps.value_or(float_info(accumulator(x.dtype())).eps);
}

}  // namespace

Meta RmsNorm::infer(const Args& a) {
  check_rows(a);
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
std::array<Meta, 1> RmsNorm::saved_meta(const Args& a) {
  return {stat_meta(a.x, rows_of(a.x.shape(), normalised_shape(a).size()).rows)};
}
void RmsNorm::cpu(const Args& a, Tensor& y, Saved* saved) {
  const NoGrad quiet;
  const auto [rows, n] = rows_of(a.x.shape(), normalised_shape(a).size());
  if (saved) saved->rstd = stat(a.x, rows);
  const Tensor x = contiguous(a.x);
  const AffineOperands affine(a.weight, {}, affine_dtype(a.weight, {}, x.dtype()));
  cpu::rms_norm(x.dtype(), x.data(), affine.raw, eps_of(a.eps, x), y.data(),
                saved ? saved->rstd.data() : nullptr, rows, n);
}
Tensor RmsNorm::compose(const Args& a) {
  const DType wide = accumulator(a.x.dtype());
  Tensor y = normalise(cast(a.x, wide), check_rows(a).size(), eps_of(a.eps, a.x), false).xhat;
  if (a.weight) y = y * cast(*a.weight, wide);
  return cast(y, a.x.dtype());
}
RmsNorm::Args RmsNorm::grad(const Back<RmsNorm>& b) {
  const bool w = b.need(&Args::weight);
  auto g = call<RmsNormGrad>({.x = b.a.x,
                              .dy = b.dy,
                              .rstd = b.saved.rstd,
                              .weight = b.a.weight,
                              .eps = eps_of(b.a.eps, b.a.x),
                              .dims = normalised_shape(b.a).size(),
                              .wanted = (b.need(&Args::x) ? kX : 0) | (w ? kWeight : 0)});
  Args out;
  if (b.need(&Args::x)) out.x = g.dx;
  if (w) out.weight = g.dweight;
  return out;
}
void RmsNorm::samples(SampleList& s) {
  add_sample<RmsNorm>(s, {.x = grid({3, 4}, -2, 2), .weight = grid({4}, 0.5, 1.5)});
  add_sample<RmsNorm>(s, {.x = strided(grid({3, 5}, -2, 2)), .eps = 1e-3});
  add_sample<RmsNorm>(s, {.x = grid({3, 2, 2}, -2, 2), .shape = Sizes{2, 2}});
  add_sample<RmsNorm>(s, {.x = grid({0, 3}, -2, 2), .weight = grid({3}, 0.5, 1.5)});
}

std::array<Meta, 2> RmsNormGrad::infer(const Args& a) {
  check_grad(a);
  const DType affine = a.weight ? a.weight->dtype() : a.x.dtype();
  return {grad_meta(a.x, a.x.shape(), a.x.dtype(), a.wanted & kX),
          grad_meta(a.x, last_dims(a.x.shape(), a.dims), affine, a.wanted & kWeight)};
}
void RmsNormGrad::cpu(const Args& a, Out& out) {
  const NoGrad quiet;
  const auto [rows, n] = rows_of(a.x.shape(), a.dims);
  const Tensor x = contiguous(a.x), dy = contiguous(cast(a.dy, a.x.dtype())),
               rstd = contiguous(a.rstd);
  const AffineOperands affine(a.weight, {}, out.dweight.dtype());
  const cpu::NormGrads grads{data_or_null(out.dx, a.wanted & kX),
                             data_or_null(out.dweight, a.wanted & kWeight), nullptr};
  cpu::rms_norm_backward(x.dtype(), x.data(), dy.data(), affine.raw, rstd.data(), grads, rows, n);
}
RmsNormGrad::Out RmsNormGrad::compose(const Args& a) {
  const DType affine = a.weight ? a.weight->dtype() : a.x.dtype();
  const auto g = compose_grads(a.x, a.dy, a.weight, a.eps, a.dims, a.wanted, affine, false);
  return {g.dx, g.dweight};
}
void RmsNormGrad::samples(SampleList&) {}

OpFamily family_norm() {
  return list_ops(OpList<LayerNorm, LayerNormGrad, RmsNorm, RmsNormGrad>{}, "norm");
}

}  // namespace rille
