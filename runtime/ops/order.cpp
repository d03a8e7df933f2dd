#include "ops/order.h"

#include "autograd/node.h"
#include "core/fail.h"
#include "cpu/sort.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/register.h"
#include "ops/select.h"
#include "ops/view.h"

namespace rille {
namespace {

int64_t line_length(const Tensor& x, const Axis& dim) {
  const int d = axis(dim.value, x.rank());
  return x.rank() == 0 ? 1 : x.shape()[d];
}

template <class A>
void select_rank(cpu::Rank what, const A& a, int64_t k, Picked& y) {
  const NoGrad quiet;
  cpu::select(contiguous(a.x), axis(a.dim.value, a.x.rank()), what, k, y.values, y.ids);
}

template <class O>
void order_samples(SampleList& s) {
  add_sample<O>(s, {.x = grid({3, 4}, -1.3, 2.1)});
  add_sample<O>(s, {.x = strided(grid({2, 5, 3}, -1.3, 2.1)), .dim = {1}, .descending = true});
  add_sample<O>(s, {.x = ids({2, 7}, 4)});
  add_sample<O>(s, {.x = grid({}, -1.3, 2.1)});
  add_sample<O>(s, {.x = grid({0, 2}, -1.3, 2.1), .dim = {0}});
}

}  // namespace

std::array<Meta, 2> Sort::infer(const Args& a) {
  axis(a.dim.value, a.x.rank());
  return picked_meta(a.x, a.x.shape());
}
void Sort::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  cpu::sort(contiguous(a.x), axis(a.dim.value, a.x.rank()), a.descending, &y.values, y.ids);
}
void Sort::samples(SampleList& s) { order_samples<Sort>(s); }

Meta Argsort::infer(const Args& a) {
  axis(a.dim.value, a.x.rank());
  return meta_of(a.x.shape(), DType::i64, a.x);
}
void Argsort::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  cpu::sort(contiguous(a.x), axis(a.dim.value, a.x.rank()), a.descending, nullptr, y);
}
void Argsort::samples(SampleList& s) { order_samples<Argsort>(s); }

void Msort::samples(SampleList& s) { add_sample<Msort>(s, {.x = grid({4, 2}, -1, 1)}); }

std::array<Meta, 2> TopK::infer(const Args& a) {
  const int64_t n = line_length(a.x, a.dim);
  if (a.k < 0 || a.k > n)
    throw arg_error("'k' must be from 0 to {}, the size of the dim, got {}", n, a.k);
  Shape s = a.x.shape();
  if (a.x.rank() > 0) s[axis(a.dim.value, a.x.rank())] = a.k;
  return picked_meta(a.x, s);
}
void TopK::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  cpu::top(contiguous(a.x), axis(a.dim.value, a.x.rank()), a.k, a.largest, y.values, y.ids);
}
void TopK::samples(SampleList& s) {
  add_sample<TopK>(s, {.x = grid({3, 5}, -1.3, 2.1), .k = 2});
  add_sample<TopK>(
      s, {.x = strided(grid({2, 5, 3}, -1.3, 2.1)), .k = 3, .dim = {1}, .largest = false});
  add_sample<TopK>(s, {.x = grid({}, -1.3, 2.1), .k = 1});
  add_sample<TopK>(s, {.x = grid({2, 3}, -1.3, 2.1), .k = 0});
}

std::array<Meta, 2> KthValue::infer(const Args& a) {
  const int64_t n = line_length(a.x, a.dim);
  if (a.k < 1 || a.k > n)
    throw arg_error("'k' must be from 1 to {}, the size of the dim, got {}", n, a.k);
  return picked_meta(a.x, one_each(a.x, a.dim, a.keepdim, "value"));
}
void KthValue::cpu(const Args& a, Out& y) { select_rank(cpu::Rank::kth, a, a.k - 1, y); }
void KthValue::samples(SampleList& s) {
  add_sample<KthValue>(s, {.x = grid({3, 5}, -1.3, 2.1), .k = 2});
  add_sample<KthValue>(
      s, {.x = strided(grid({2, 5, 3}, -1.3, 2.1)), .k = 5, .dim = {1}, .keepdim = true});
  add_sample<KthValue>(s, {.x = grid({}, -1.3, 2.1), .k = 1});
}

void MedianDim::cpu(const Args& a, Out& y) { select_rank(cpu::Rank::median, a, 0, y); }
void NanMedianDim::cpu(const Args& a, Out& y) { select_rank(cpu::Rank::nan_median, a, 0, y); }

Median::Out Median::compose(const Args& a) {
  if (!a.dim) return {call<MedianDim>({.x = flat(a.x), .dim = {0}, .keepdim = false}).values};
  const Picked p = call<MedianDim>({a.x, *a.dim, a.keepdim});
  return {p.values, p.ids};
}
NanMedian::Out NanMedian::compose(const Args& a) {
  if (!a.dim) return {call<NanMedianDim>({.x = flat(a.x), .dim = {0}, .keepdim = false}).values};
  const Picked p = call<NanMedianDim>({a.x, *a.dim, a.keepdim});
  return {p.values, p.ids};
}

void Mode::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  cpu::mode(contiguous(a.x), axis(a.dim.value, a.x.rank()), y.values, y.ids);
}

// ---- quantiles --------------------------------------------------------------------------------

std::array<Meta, 3> QuantileIds::infer(const Args& a) {
  Shape s = one_each(a.x, a.dim, false, "quantile");
  s.push_back(a.q.numel());
  return {meta_of(s, DType::i64, a.x), meta_of(s, DType::i64, a.x), meta_of(s, a.x.dtype(), a.x)};
}
void QuantileIds::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  const std::vector<double> q = a.q.to_vector();
  for (const double v : q)
    if (!(v >= 0 && v <= 1)) throw arg_error("'q' must lie between 0 and 1, got {}", v).of("q");
  cpu::quantile_ids(contiguous(a.x), axis(a.dim.value, a.x.rank()), q,
                    static_cast<cpu::Between>(a.interpolation), a.skip_nan, y.low, y.high,
                    y.weight);
}
void QuantileIds::samples(SampleList& s) {
  add_sample<QuantileIds>(s, {.x = grid({3, 5}, -1.3, 2.1), .q = Tensor::number(0.3), .dim = {0}});
}

namespace {

// low and high mixed, counted from the nearer one. Two equal infinities are not mixed.
Tensor between(const Tensor& low, const Tensor& high, const Tensor& weight) {
  const Tensor endless =
      call<LogicalAnd>({.x = call<IsInf>({.x = low}), .y = call<Eq>({.x = low, .y = high})});
  const Tensor step = masked_fill(high - low, endless, 0);
  const Tensor near_low = call<Lt>({.x = weight, .y = Tensor::number(0.5)});
  return where(near_low, low + step * weight, high - step * (1 - weight));
}

// The weights, which grow with q by the number of steps between the elements that count: zeros of
// that slope are added.
Tensor moving_with(const Tensor& q, const Tensor& weight, const Tensor& lines, bool skip_nan) {
  const Tensor valid = call<LogicalNot>({.x = call<IsNan>({.x = lines})});
  const Tensor steps =
      skip_nan ? cast(call<Sum>({.x = valid, .dims = {-1}, .keepdim = true}), weight.dtype()) - 1
               : full({}, static_cast<double>(lines.size(-1) - 1), weight.dtype(), q.device());
  const Tensor rank = cast(q, weight.dtype()) * steps;
  return weight + (rank - autograd::detach(rank));
}

}  // namespace

template <class O>
Tensor QuantileOf<O>::compose(const Args& a) {
  if (!a.x.is_float())
    throw dtype_error("quantiles need floating-point values, got {}", name(a.x.dtype()))
        .of("x")
        .hint("x:to(\"f32\")");
  if (a.q.rank() > 1)
    throw shape_error("'q' must have at most one dim, got {}", to_string(a.q.shape())).of("q");
  const Tensor x = a.dim && a.x.rank() > 0 ? a.x : flat(a.x);
  const int d = a.dim && a.x.rank() > 0 ? axis(a.dim->value, a.x.rank()) : 0;
  const auto at = call<QuantileIds>({x, a.q, {d}, a.interpolation, O::skip_nan});
  Dims order;
  for (int i = 0; i < x.rank(); ++i)
    if (i != d) order.push_back(i);
  order.push_back(d);
  const Tensor lines = permute(x, order);
  const Tensor low = gather(lines, -1, at.low), high = gather(lines, -1, at.high);
  const bool slides = a.interpolation == Interpolation::linear && autograd::requires_grad(a.q);
  const Tensor y =
      between(low, high, slides ? moving_with(a.q, at.weight, lines, O::skip_nan) : at.weight);
  // The quantiles go from the last dim to the first; a single one has none.
  Shape out = reduced_shape(a.x.shape(), dim_set(dim_or_all(a.dim), a.x.rank()), a.keepdim);
  if (a.q.rank() == 0) return reshape(y, out);
  Dims turned{y.rank() - 1};
  for (int i = 0; i + 1 < y.rank(); ++i) turned.push_back(i);
  out.insert(0, a.q.numel());
  return reshape(permute(y, turned), out);
}
template <class O>
void QuantileOf<O>::samples(SampleList& s) {
  const Tensor x = grid({3, 4}, -1.3, 2.1), several = Tensor::of(std::array{0.1, 0.45, 1.0}, {3});
  add_sample<O>(s, {.x = x, .q = Tensor::number(0.4)});
  add_sample<O>(s, {.x = strided(grid({2, 5, 2}, -1.3, 2.1)),
                    .q = Tensor::number(0.4),
                    .dim = Axis{1},
                    .keepdim = true});
  for (const auto how : {Interpolation::lower, Interpolation::higher, Interpolation::midpoint,
                         Interpolation::nearest})
    add_sample<O>(s, {.x = x, .q = Tensor::number(0.4), .dim = Axis{-1}, .interpolation = how});
  add_sample<O>(s, {.x = x, .q = several, .dim = Axis{0}});
  add_sample<O>(s, {.x = x, .q = grid({2}, 0.2, 0.55), .dim = Axis{1}});
}

OpFamily family_order() {
  return list_ops(OpList<Sort, Argsort, Msort, TopK, KthValue, MedianDim, NanMedianDim, Median,
                         NanMedian, Mode, Quantile, NanQuantile, QuantileIds>{},
                  "order");
}

}  // namespace rille
