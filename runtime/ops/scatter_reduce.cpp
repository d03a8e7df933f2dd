#include "ops/scatter_reduce.h"

#include <cmath>

#include "core/fail.h"
#include "cpu/movement.h"
#include "ops/arith.h"
#include "ops/cast.h"
#include "ops/compare.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/pointwise_kernels.h"
#include "ops/scatter.h"
#include "ops/scatter_parts.h"
#include "ops/view.h"

namespace rille {

using cpu::Combine;

namespace {

using Reduce = ScatterReduce::Reduce;

// What leaves the other side as it is: max and min start from the ends of the dtype.
Tensor identity(Reduce how, DType d) {
  if (how == Reduce::prod) return full({}, 1, d);
  if (how != Reduce::amax && how != Reduce::amin) return full({}, 0, d);
  const double sign = how == Reduce::amax ? -1 : 1;
  if (is_float(d)) return full({}, sign * HUGE_VAL, d);
  const Tensor t = Tensor::empty(Shape{}, DType::i64);
  *t.data_as<int64_t>() = how == Reduce::amax ? INT64_MIN : INT64_MAX;
  return t;
}

Combine combine_of(Reduce how) {
  switch (how) {
    case Reduce::prod: return Combine::mul;
    case Reduce::amax: return Combine::max;
    case Reduce::amin: return Combine::min;
    default: return Combine::add;
  }
}

// How many values a place's mean is taken of; 1 where there are none.
Tensor mean_counts(const Shape& shape, const ScatterReduce::Args& a, DType d, Device device) {
  const Tensor one = full({}, 1, d, device);
  Tensor n = full(shape, 1, d, device);
  if (!a.include_self) n = scatter(n, a.dim.value, a.index, Tensor::number(0.0));
  return scatter_add(n, a.dim.value, a.index, expand(one, a.index.shape()));
}

}  // namespace

Meta ScatterReduce::infer(const Args& a) {
  return Scatter::infer({.x = a.x, .dim = a.dim, .index = a.index, .source = a.source});
}
void ScatterReduce::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  in_wide_type(y, a.x, [&](const Tensor& sums) {
    if (!a.include_self)
      scatter_into(sums, a.dim, a.index, identity(a.reduce, sums.dtype()), Combine::assign);
    scatter_into(sums, a.dim, a.index, a.source, combine_of(a.reduce));
    if (a.reduce != Reduce::mean) return;
    const Tensor n = mean_counts(sums.shape(), a, sums.dtype(), sums.device());
    const auto rounding = is_float(sums.dtype()) ? Div::Rounding::none : Div::Rounding::floor;
    cpu::copy_strided(sums, call<Div>({.x = sums, .y = n, .rounding = rounding}));
  });
}
uint64_t ScatterReduce::saves(const Args& a, uint64_t) {
  return a.reduce == Reduce::sum || a.reduce == Reduce::mean ? 0b100
                                                             : 0b1101;  // index; x and source, too
}

namespace {

// 1 where t is zero, 0 elsewhere; outside of every graph.
Tensor zero_mask(const Tensor& t) {
  const NoGrad quiet;
  return 1.0 - cast(cast(t, DType::boolean), t.dtype());
}

// 1 where both are equal, infinities included.
Tensor equal_mask(const Tensor& a, const Tensor& b) {
  return cast(call<Eq>({.x = a, .y = b}), a.dtype());
}

// d(product)/d(source): the product of the other factors, which a division gives but for zeros. A
// single zero's own gradient is the product of the rest; with two zeros every gradient is zero.
Tensor product_gradient(const ScatterReduce::Args& a, const Tensor& dy) {
  const Tensor zero = zero_mask(a.source), safe = a.source + zero;
  ScatterReduce::Args rest = a;
  rest.source = safe;
  const Tensor y = call<ScatterReduce>(rest);
  const Tensor zeros =
      scatter_add(full(a.x.shape(), 0, dy.dtype(), dy.device()), a.dim.value, a.index, zero);
  const Tensor alone = zero_mask(gathered(zeros, a.dim, a.index, a.source) - zero);
  return gathered(dy * y, a.dim, a.index, a.source) / safe * alone;
}

ScatterReduce::Args extreme_gradient(const ScatterReduce::Args& a, const Tensor& dy) {
  Tensor hit_x, hit_source, n;
  {
    const NoGrad quiet;
    const Tensor y = call<ScatterReduce>(a);
    hit_source = equal_mask(a.source, gathered(y, a.dim, a.index, a.source));
    hit_x = a.include_self ? equal_mask(a.x, y) : full(a.x.shape(), 0, dy.dtype(), dy.device());
    n = scatter_add(hit_x, a.dim.value, a.index, hit_source);
    n = n + zero_mask(n);
  }
  ScatterReduce::Args g;
  g.x = a.include_self ? dy * hit_x / n : with_zeros(dy, a.dim, a.index);
  g.source = gathered(dy / n, a.dim, a.index, a.source) * hit_source;
  return g;
}

}  // namespace

ScatterReduce::Args ScatterReduce::grad(const Back<ScatterReduce>& b) {
  const Args& a = b.a;
  if (a.reduce == Reduce::amax || a.reduce == Reduce::amin) return extreme_gradient(a, b.dy);
  Args g;
  if (a.reduce == Reduce::prod) {
    if (b.need(&Args::x) && a.include_self) {
      Args others = a;
      others.x = full(a.x.shape(), 1, b.dy.dtype(), b.dy.device());
      g.x = b.dy * call<ScatterReduce>(others);
    } else if (b.need(&Args::x)) {
      g.x = with_zeros(b.dy, a.dim, a.index);
    }
    if (b.need(&Args::source)) g.source = product_gradient(a, b.dy);
    return g;
  }
  Tensor dy = b.dy;
  if (a.reduce == Reduce::mean) {
    const NoGrad quiet;
    g.source = mean_counts(a.x.shape(), a, dy.dtype(), dy.device());
  }
  if (g.source) dy = dy / std::exchange(g.source, Tensor());
  g.x = a.include_self ? dy : with_zeros(dy, a.dim, a.index);
  if (b.need(&Args::source)) g.source = gathered(dy, a.dim, a.index, a.source);
  return g;
}
void ScatterReduce::samples(SampleList& s) {
  for (int how = 0; how < 5; ++how)
    for (const bool self : {true, false}) {
      add_sample<ScatterReduce>(s, {.x = grid({3, 4}, 0.5, 2),
                                    .dim = {0},
                                    .index = ids({5, 4}, 3),
                                    .source = grid({5, 4}, 0.7, 1.9),
                                    .reduce = Reduce{how},
                                    .include_self = self});
    }
  const Tensor zeros = Tensor::of(std::vector<double>{0, 2, 3, 0, 0, 4}, {6}, DType::f64);
  const Tensor places = Tensor::of(std::vector<double>{0, 0, 0, 1, 1, 2}, {6}, DType::i64);
  add_sample<ScatterReduce>(
      s,
      {.x = grid({3}, 1, 2), .dim = {0}, .index = places, .source = zeros, .reduce = Reduce::prod})
      .second_gradient = false;  // a product's curvature at zeros is left out
  add_sample<ScatterReduce>(s, {.x = strided(grid({2, 3}, 1, 2)),
                                .dim = {1},
                                .index = ids({2, 2}, 3),
                                .source = grid({2, 3}, 1, 2),
                                .reduce = Reduce::mean});
}

OpFamily family_scatter_reduce() { return list_ops(OpList<ScatterReduce>{}, "scatter_reduce"); }

}  // namespace rille
