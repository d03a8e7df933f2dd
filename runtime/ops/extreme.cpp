#include "ops/extreme.h"

#include "core/fail.h"
#include "cpu/extreme.h"
#include "cpu/reducers.h"
#include "ops/cast.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/register.h"
#include "ops/view.h"

namespace rille {

// ---- ops that pick elements -------------------------------------------------------------------

Tensor pick(const Tensor& x, int64_t dim, const Tensor& ids) {
  if (x.rank() == 0) return clone(x);
  if (ids.rank() == x.rank()) return gather(x, dim, ids);
  const int d = axis(dim, x.rank());
  return squeeze(gather(x, d, unsqueeze(ids, d)), d);
}

std::array<Meta, 2> picked_meta(const Tensor& x, const Shape& shape) {
  return {meta_of(shape, x.dtype(), x), meta_of(shape, DType::i64, x)};
}

Shape one_each(const Tensor& x, const Axis& dim, bool keepdim, std::string_view what) {
  const Axes dims{dim.value};
  const Shape s = reduced_shape(x.shape(), dim_set(dims, x.rank()), keepdim);
  if (reduced_count(x.shape(), dims) == 0 && checked_numel(s) > 0)
    throw shape_error("there is no {} over no elements: shape {}", what, to_string(x.shape()));
  return s;
}

Axes dim_or_all(const std::optional<Axis>& dim) { return dim ? Axes{dim->value} : Axes(); }

Tensor flat(const Tensor& x) { return reshape(x, {x.numel()}); }

// ---- the ops ----------------------------------------------------------------------------------

namespace {

Meta extreme_meta(const Reduction<Amax>::Args& a, std::string_view what) {
  const Shape s = reduced_shape(a.x.shape(), dim_set(a.dims, a.x.rank()), a.keepdim);
  if (reduced_count(a.x.shape(), a.dims) == 0 && checked_numel(s) > 0)
    throw shape_error("there is no {} over no elements: shape {}", what, to_string(a.x.shape()));
  return meta_of(s, a.x.dtype(), a.x);
}

}  // namespace

Meta Amax::infer(const Args& a) { return extreme_meta(a, "maximum"); }
void Amax::cpu(const Args& a, Tensor& y) {
  cpu::fold(cpu::Fold::max, a.x, dim_set(a.dims, a.x.rank()), a.x.dtype(), y);
}
Amax::Args Amax::grad(const Back<Amax>& b) {
  return {.x = spread(b.dy, b.a.x, b.a.dims) * tie_share(b.a.x, b.y, b.a.dims)};
}

Meta Amin::infer(const Args& a) { return extreme_meta({a.x, a.dims, a.keepdim}, "minimum"); }
void Amin::cpu(const Args& a, Tensor& y) {
  cpu::fold(cpu::Fold::min, a.x, dim_set(a.dims, a.x.rank()), a.x.dtype(), y);
}
Amin::Args Amin::grad(const Back<Amin>& b) {
  return {.x = spread(b.dy, b.a.x, b.a.dims) * tie_share(b.a.x, b.y, b.a.dims)};
}

void MaxDim::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  cpu::extreme(true, contiguous(a.x), axis(a.dim.value, a.x.rank()), &y.values, y.ids);
}
void MinDim::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  cpu::extreme(false, contiguous(a.x), axis(a.dim.value, a.x.rank()), &y.values, y.ids);
}

Max::Out Max::compose(const Args& a) {
  if (!a.dim) return {call<Amax>({.x = a.x, .keepdim = a.keepdim})};
  const Picked p = call<MaxDim>({a.x, *a.dim, a.keepdim});
  return {p.values, p.ids};
}
Min::Out Min::compose(const Args& a) {
  if (!a.dim) return {call<Amin>({.x = a.x, .keepdim = a.keepdim})};
  const Picked p = call<MinDim>({a.x, *a.dim, a.keepdim});
  return {p.values, p.ids};
}

template <class O>
Meta ArgReduction<O>::infer(const Args& a) {
  const Axes dims = dim_or_all(a.dim);
  const Shape s = reduced_shape(a.x.shape(), dim_set(dims, a.x.rank()), a.keepdim);
  if (reduced_count(a.x.shape(), dims) == 0 && checked_numel(s) > 0)
    throw shape_error("there is no {} over no elements: shape {}", O::what, to_string(a.x.shape()));
  return meta_of(s, DType::i64, a.x);
}
template <class O>
void ArgReduction<O>::samples(SampleList& s) {
  add_sample<O>(s, {.x = grid({3, 4}, -1.3, 2.1)});
  add_sample<O>(s, {.x = strided(grid({2, 5, 3}, -1.3, 2.1)), .dim = Axis{1}, .keepdim = true});
  add_sample<O>(s, {.x = grid({}, -1.3, 2.1)});
  add_sample<O>(s, {.x = ids({4, 3}, 9), .dim = Axis{0}});
}

namespace {

template <class A>
void arg_extreme(bool largest, const A& a, Tensor& y) {
  const NoGrad quiet;
  if (a.dim)
    cpu::extreme(largest, contiguous(a.x), axis(a.dim->value, a.x.rank()), nullptr, y);
  else
    cpu::extreme(largest, flat(contiguous(a.x)), 0, nullptr, y);
}

}  // namespace

void Argmax::cpu(const Args& a, Tensor& y) { arg_extreme(true, a, y); }
void Argmin::cpu(const Args& a, Tensor& y) { arg_extreme(false, a, y); }

Aminmax::Out Aminmax::compose(const Args& a) {
  const Axes dims = dim_or_all(a.dim);
  return {call<Amin>({.x = a.x, .dims = dims, .keepdim = a.keepdim}),
          call<Amax>({.x = a.x, .dims = dims, .keepdim = a.keepdim})};
}
void Aminmax::samples(SampleList& s) {
  add_sample<Aminmax>(s, {.x = grid({3, 4}, -1.3, 2.1)});
  add_sample<Aminmax>(s, {.x = grid({3, 4}, -1.3, 2.1), .dim = Axis{0}});
}

OpFamily family_extreme() {
  return list_ops(OpList<Amax, Amin, MaxDim, MinDim, Max, Min, Argmax, Argmin, Aminmax>{},
                  "extreme");
}

}  // namespace rille
