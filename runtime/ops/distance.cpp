#include "ops/distance.h"

#include <cmath>

#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/distance.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/loss.h"
#include "ops/matmul.h"
#include "ops/pointwise.h"
#include "ops/reduce.h"
#include "ops/register.h"
#include "ops/slice.h"
#include "ops/view.h"

namespace rille {
namespace {

void check_power(double p) {
  if (!(p >= 0)) throw arg_error("'p' must not be negative, got {}", p);
}

DType wide_of(DType d) { return d == DType::f64 ? d : DType::f32; }

// [..., n, m] of batches that broadcast.
Shape pairs_shape(const Cdist::Args& a) {
  const Shape &x = a.x1.shape(), &y = a.x2.shape();
  Shape s = broadcast(Shape(x.begin(), x.end() - 2), Shape(y.begin(), y.end() - 2));
  s.push_back(x[x.size() - 2]);
  s.push_back(y[y.size() - 2]);
  return s;
}

// x with the first dims of the result, in that dtype, row by row.
Tensor filled(const Tensor& x, const Shape& result, DType d) {
  Shape s(result.begin(), result.end() - 2);
  s.push_back(x.size(-2));
  s.push_back(x.size(-1));
  return contiguous(expand(cast(x, d), s));
}

Tensor differences(const Tensor& x1, const Tensor& x2) {
  return unsqueeze(x1, -2) - unsqueeze(x2, -3);
}

Tensor sum_over(const Tensor& x, int64_t dim, bool keepdim = false) {
  return call<Sum>({.x = x, .dims = {dim}, .keepdim = keepdim});
}

}  // namespace

Tensor PairwiseDistance::compose(const Args& a) {
  check_loss_input(a.x1, "x1");
  check_loss_input(a.x2, "x2");
  if (std::max(a.x1.rank(), a.x2.rank()) == 0)
    throw shape_error("needs vectors, got two numbers").of("x1", "x2");
  const DType d = promote(a.x1.dtype(), a.x2.dtype());
  const Tensor gap = cast(a.x1, wide_of(d)) - cast(a.x2, wide_of(d)) + a.eps;
  return cast(call<Norm>({.x = gap, .p = a.p, .dims = {-1}, .keepdim = a.keepdim}), d);
}
void PairwiseDistance::samples(SampleList& s) {
  const Tensor x = grid({3, 4}, -1, 1.1);
  add_sample<PairwiseDistance>(s, {.x1 = x, .x2 = grid({3, 4}, -1.3, 0.9)});
  add_sample<PairwiseDistance>(
      s, {.x1 = strided(x), .x2 = grid({4}, -1.3, 0.9), .p = 3, .keepdim = true});
  add_sample<PairwiseDistance>(s, {.x1 = grid({4}, 0, 1), .x2 = grid({4}, -2, -1), .p = 1});
  add_sample<PairwiseDistance>(s, {.x1 = grid({0, 4}, 0, 1), .x2 = grid({4}, -2, -1)});
}

Meta Cdist::infer(const Args& a) {
  check_loss_input(a.x1, "x1");
  check_loss_input(a.x2, "x2");
  check_power(a.p);
  for (const auto& [t, field] : {std::pair{&a.x1, "x1"}, std::pair{&a.x2, "x2"}})
    if (t->rank() < 2)
      throw shape_error("'{}' must be [..., n, width], got {}", field, to_string(t->shape()))
          .of(field);
  if (a.x1.size(-1) != a.x2.size(-1))
    throw shape_error("widths differ: {} and {}", a.x1.size(-1), a.x2.size(-1)).of("x1", "x2");
  return meta_of(pairs_shape(a), promote(a.x1.dtype(), a.x2.dtype()), a.x1);
}
void Cdist::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const DType wide = wide_of(y.dtype());
  const Tensor x1 = filled(a.x1, y.shape(), wide), x2 = filled(a.x2, y.shape(), wide);
  const Tensor out = y.dtype() == wide ? y : Tensor::empty(y.shape(), wide);
  const int64_t n = y.size(-2), m = y.size(-1);
  if (y.numel() == 0) return;
  const cpu::Pairs pairs{numel_of_dims(y.shape(), 0, y.rank() - 2), n, m, a.x1.size(-1), a.p};
  if (wide == DType::f64)
    cpu::pair_distances(pairs, x1.data_as<double>(), x2.data_as<double>(), out.data_as<double>());
  else
    cpu::pair_distances(pairs, x1.data_as<float>(), x2.data_as<float>(), out.data_as<float>());
  if (!out.is(y)) copy_(y, out);
}
Tensor Cdist::compose(const Args& a) {
  const DType d = promote(a.x1.dtype(), a.x2.dtype());
  const Tensor gaps = differences(cast(a.x1, wide_of(d)), cast(a.x2, wide_of(d)));
  return cast(call<Norm>({.x = gaps, .p = a.p, .dims = {-1}}), d);
}
// Of Euclidean distances by matrix products: with w = dy / y, dx1 = x1 * sum(w) - w @ x2.
Cdist::Args Cdist::grad(const Back<Cdist>& b) {
  const Tensor &x1 = b.a.x1, &x2 = b.a.x2;
  if (b.a.p == 2) {
    const Tensor w = call<DivideOrZero>({.x = b.dy, .y = b.y});
    Args g;
    if (b.need(&Args::x1)) g.x1 = x1 * sum_over(w, -1, true) - matmul(w, x2);
    if (b.need(&Args::x2)) g.x2 = x2 * transpose(sum_over(w, -2, true)) - matmul(transpose(w), x1);
    return g;
  }
  const Norm::Args norms{.x = differences(x1, x2), .p = b.a.p, .dims = {-1}};
  const Tensor slopes = Norm::grad({norms, b.y, b.dy, {}, ~uint64_t{0}}).x;
  return {.x1 = sum_over(slopes, -2), .x2 = -sum_over(slopes, -3)};
}
void Cdist::samples(SampleList& s) {
  const Tensor x = grid({3, 4}, -1, 1.1), y = grid({2, 4}, -1.37, 0.93);  // no ties
  for (const double p : {2.0, 1.0, 3.0, 0.0, HUGE_VAL})
    add_sample<Cdist>(s, {.x1 = x, .x2 = y, .p = p});
  add_sample<Cdist>(s, {.x1 = grid({2, 1, 2, 3}, -1, 1.1), .x2 = strided(grid({3, 3}, -1.3, 0.9))});
  add_sample<Cdist>(s, {.x1 = grid({2, 0, 3}, -1, 1), .x2 = grid({2, 3}, -1, 1)});
  add_sample<Cdist>(s, {.x1 = grid({2, 0}, -1, 1), .x2 = grid({3, 0}, -1, 1)});
}

Tensor Pdist::compose(const Args& a) {
  check_loss_input(a.x, "x");
  check_power(a.p);
  if (a.x.rank() != 2)
    throw shape_error("'x' must be [n, width], got {}", to_string(a.x.shape())).of("x");
  const int64_t n = a.x.size(0);
  const Tensor pairs = call<TriuIndices>({n, n, 1, a.x.device()});
  const Tensor ids = select(pairs, 0, 0) * static_cast<double>(n) + select(pairs, 0, 1);
  const Tensor all = call<Cdist>({.x1 = a.x, .x2 = a.x, .p = a.p});
  return index_select(reshape(all, {-1}), 0, cast(ids, DType::i64));
}
void Pdist::samples(SampleList& s) {
  add_sample<Pdist>(s, {.x = grid({4, 3}, -1, 1.1)});
  add_sample<Pdist>(s, {.x = strided(grid({3, 2}, -1, 1.1)), .p = 3});
  add_sample<Pdist>(s, {.x = grid({1, 2}, -1, 1)});
  add_sample<Pdist>(s, {.x = grid({0, 2}, -1, 1)});
}

OpFamily family_distance() { return list_ops(OpList<PairwiseDistance, Cdist, Pdist>{}, "linalg"); }

}  // namespace rille
