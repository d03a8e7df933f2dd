#include "ops/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/budget.h"
#include "core/fail.h"
#include "cpu/random.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/families.h"
#include "ops/pointwise.h"
#include "ops/register.h"
#include "ops/view.h"

namespace rille {
namespace {

cpu::Draw numbers(const Draw& d) { return {d.seed, d.number, 0}; }

Meta made(const Sizes& shape, std::optional<DType> dtype, std::optional<Device> device) {
  const Context& c = Context::current();
  return {
      shape.list, dtype.value_or(c.default_dtype), device.value_or(c.default_device), {}, false};
}

Meta float_meta(const Meta& m) {
  if (category(m.dtype) != Category::floating)
    throw dtype_error("'dtype' must be a float dtype, got {}", name(m.dtype));
  return m;
}

void check_range(int64_t low, int64_t high) {
  if (low > high) throw arg_error("'low' is above 'high': {} and {}", low, high);
}

void check_fits(DType d, int64_t low, int64_t high) {
  if (!is_integer(d)) return;
  const IntInfo i = int_info(d);
  if (low < i.min || high > i.max)
    throw arg_error("{} to {} does not fit into {}", low, high, name(d)).of("low", "high");
}

void check_deviation(double std) {
  if (!(std >= 0)) throw arg_error("'std' must not be negative, got {}", std);
}

// Kernels write row by row; other layouts get a copy.
template <class F>
void row_major(Tensor& y, F&& write) {
  if (y.is_contiguous()) return write(y);
  const NoGrad quiet;
  Tensor rows = Tensor::empty(y.shape(), y.dtype(), y.device());
  write(rows);
  copy_(y, rows);
}

Tensor none_like(const Tensor& dy) { return zeros_like(dy); }

}  // namespace

// ---- from nothing
// --------------------------------------------------------------------------------

Meta Rand::infer(const Args& a) { return float_meta(made(a.shape, a.dtype, a.device)); }
void Rand::cpu(const Args& a, Tensor& y) {
  cpu::uniform(y.dtype(), y.data(), y.numel(), 0, 1, numbers(a.draw));
}
void Rand::samples(SampleList& s) {
  add_sample<Rand>(s, {.shape = {2, 3}});
  add_sample<Rand>(s, {.shape = {0, 3}, .dtype = DType::bf16});
}

Meta Randn::infer(const Args& a) { return float_meta(made(a.shape, a.dtype, a.device)); }
void Randn::cpu(const Args& a, Tensor& y) {
  cpu::normal(y.dtype(), y.data(), y.numel(), 0, 1, numbers(a.draw));
}
void Randn::samples(SampleList& s) {
  add_sample<Randn>(s, {.shape = {2, 3}});
  add_sample<Randn>(s, {.shape = {}, .dtype = DType::f64});
}

Meta Randint::infer(const Args& a) {
  check_range(a.low, a.high);
  check_fits(a.dtype, a.low, a.high);
  return made(a.shape, a.dtype, a.device);
}
void Randint::cpu(const Args& a, Tensor& y) {
  cpu::randint(y.dtype(), y.data(), y.numel(), a.low, a.high, numbers(a.draw));
}
void Randint::samples(SampleList& s) {
  add_sample<Randint>(s, {.low = 1, .high = 6, .shape = {2, 3}});
  add_sample<Randint>(s, {.low = -3, .high = -3, .shape = {4}, .dtype = DType::f32});
}

Meta Randperm::infer(const Args& a) {
  if (a.n < 0) throw arg_error("'n' must not be negative, got {}", a.n);
  return made({a.n}, a.dtype, a.device);
}
void Randperm::cpu(const Args& a, Tensor& y) {
  Tensor order = y.dtype() == DType::i64 ? y : Tensor::empty({a.n}, DType::i64);
  cpu::randperm(order.data_as<int64_t>(), a.n, numbers(a.draw));
  if (!order.is(y)) copy_(y, order);
}
void Randperm::samples(SampleList& s) {
  add_sample<Randperm>(s, {.n = 7});
  add_sample<Randperm>(s, {.n = 0, .dtype = DType::i32});
}

Meta Normal::infer(const Args& a) {
  const Tensor std = a.std.value_or(Tensor::number(1.0));
  Meta m = pointwise_meta({&a.mean, &std}, a.dtype.value_or(result_type({&a.mean, &std})));
  if (!is_float(m.dtype) && !a.dtype) m.dtype = Context::current().default_dtype;
  if (a.shape && broadcast(m.shape, a.shape->list) != a.shape->list)
    throw shape_error("'mean' and 'std' of shape {} do not fit into {}", to_string(m.shape),
                      to_string(a.shape->list));
  const bool loose = a.mean.is_number() && std.is_number();
  const Device device = a.device.value_or(loose ? Context::current().default_device : m.device);
  if (std.is_number()) check_deviation(std.item());
  return float_meta({a.shape ? a.shape->list : m.shape, m.dtype, device, {}, false});
}
void Normal::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const bool plain = a.mean.is_number() && (!a.std || a.std->is_number());
  const double std = a.std && a.std->is_number() ? a.std->item() : 1;
  cpu::normal(y.dtype(), y.data(), y.numel(), plain ? a.mean.item() : 0, plain ? std : 1,
              numbers(a.draw));
  if (!plain) copy_(y, a.std ? y * *a.std + a.mean : y + a.mean);
}
void Normal::samples(SampleList& s) {
  add_sample<Normal>(
      s, {.mean = Tensor::number(1.0), .std = Tensor::number(2.0), .shape = Sizes{2, 3}});
  add_sample<Normal>(
      s, {.mean = cast(grid({3}, -1, 1), DType::f32), .std = cast(grid({2, 1}, 1, 2), DType::f32)});
}

Meta RandomMask::infer(const Args& a) {
  if (!(a.p >= 0 && a.p <= 1)) throw arg_error("'p' must be between 0 and 1, got {}", a.p);
  return made(a.shape, DType::boolean, a.device);
}
void RandomMask::cpu(const Args& a, Tensor& y) {
  cpu::bernoulli(DType::boolean, y.data(), y.numel(), a.p, numbers(a.draw));
}
void RandomMask::samples(SampleList& s) { add_sample<RandomMask>(s, {.shape = {2, 3}, .p = 0.25}); }

Tensor random_mask(const Shape& shape, double p, Device device, const Draw& draw) {
  return call<RandomMask>({.shape = Sizes(shape), .p = p, .device = device, .draw = draw});
}

// ---- shaped like a tensor
// ------------------------------------------------------------------------

Tensor RandLike::compose(const Args& a) {
  return call<Rand>({.shape = Sizes(a.x.shape()),
                     .dtype = a.dtype.value_or(a.x.dtype()),
                     .device = a.device.value_or(a.x.device()),
                     .draw = a.draw});
}
void RandLike::samples(SampleList& s) {
  add_sample<RandLike>(s, {.x = cast(grid({2, 3}, 0, 1), DType::f32)});
}

Tensor RandnLike::compose(const Args& a) {
  return call<Randn>({.shape = Sizes(a.x.shape()),
                      .dtype = a.dtype.value_or(a.x.dtype()),
                      .device = a.device.value_or(a.x.device()),
                      .draw = a.draw});
}
void RandnLike::samples(SampleList& s) {
  add_sample<RandnLike>(s, {.x = cast(grid({2, 3}, 0, 1), DType::f32)});
}

Tensor RandintLike::compose(const Args& a) {
  return call<Randint>({.low = a.low,
                        .high = a.high,
                        .shape = Sizes(a.x.shape()),
                        .dtype = a.dtype.value_or(a.x.dtype()),
                        .device = a.device.value_or(a.x.device()),
                        .draw = a.draw});
}
void RandintLike::samples(SampleList& s) {
  add_sample<RandintLike>(s, {.x = ids({2, 3}, 4), .low = 1, .high = 6});
}

template <class O>
template <class A>
Meta Redraw<O>::infer(const A& a) {
  if (!a.x.is_float())
    throw dtype_error("'x' must be a float tensor, got {}", name(a.x.dtype())).of("x");
  O::check(a);
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
template <class O>
template <class A>
void Redraw<O>::cpu(const A& a, Tensor& y) {
  row_major(y, [&](Tensor& rows) { O::fill(a, rows); });
}
template <class O>
template <class B>
auto Redraw<O>::grad(const B& b) -> typename B::Args {
  typename B::Args g{};
  g.x = none_like(b.dy);
  return g;
}

void Uniform::check(const Args& a) {
  if (!(a.low <= a.high)) throw arg_error("'low' is above 'high': {} and {}", a.low, a.high);
}
void Uniform::fill(const Args& a, Tensor& y) {
  cpu::uniform(y.dtype(), y.data(), y.numel(), a.low, a.high, numbers(a.draw));
}
void Uniform::samples(SampleList& s) {
  add_sample<Uniform>(s, {.x = cast(grid({2, 3}, 0, 1), DType::f32), .low = -1, .high = 2});
}

void NormalLike::check(const Args& a) { check_deviation(a.std); }
void NormalLike::fill(const Args& a, Tensor& y) {
  cpu::normal(y.dtype(), y.data(), y.numel(), a.mean, a.std, numbers(a.draw));
}
void NormalLike::samples(SampleList& s) {
  add_sample<NormalLike>(s, {.x = cast(grid({2, 3}, 0, 1), DType::f32), .mean = 1, .std = 0.5});
}

void Exponential::check(const Args& a) {
  if (!(a.rate > 0)) throw arg_error("'rate' must be positive, got {}", a.rate);
}
void Exponential::fill(const Args& a, Tensor& y) {
  cpu::exponential(y.dtype(), y.data(), y.numel(), a.rate, numbers(a.draw));
}
void Exponential::samples(SampleList& s) {
  add_sample<Exponential>(s, {.x = cast(grid({2, 3}, 0, 1), DType::f32), .rate = 2});
}

// ---- by probabilities
// ----------------------------------------------------------------------------

namespace {

void check_probabilities(const Tensor& p, const char* what) {
  const Tensor f = contiguous(cast(p, DType::f64));
  Poll poll;
  for (int64_t i = 0; i < f.numel(); ++i, poll(1)) {
    const double v = f.data_as<double>()[i];
    if (!(v >= 0 && v <= 1)) throw arg_error("'{}' must be between 0 and 1, got {}", what, v);
  }
}

}  // namespace

Meta Bernoulli::infer(const Args& a) {
  if (!a.p) {
    if (!a.x.is_float())
      throw dtype_error("'x' must be a float tensor, got {}", rille::name(a.x.dtype())).of("x");
  } else if (broadcast(a.p->shape(), a.x.shape()) != a.x.shape()) {
    throw shape_error("'p' of shape {} does not fit {}", to_string(a.p->shape()),
                      to_string(a.x.shape()))
        .of("x", "p");
  }
  return meta_of(a.x.shape(), a.x.dtype(), a.x);
}
void Bernoulli::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const Tensor p = a.p.value_or(a.x);
  check_probabilities(p, a.p ? "p" : "x");
  row_major(y, [&](Tensor& rows) {
    if (p.rank() == 0) {
      cpu::bernoulli(y.dtype(), rows.data(), y.numel(), p.item(), numbers(a.draw));
    } else {
      const Tensor each = contiguous(expand(p.is_float() ? p : cast(p, DType::f32), y.shape()));
      cpu::bernoulli(y.dtype(), rows.data(), y.numel(), each.dtype(), each.data(), numbers(a.draw));
    }
  });
}
Bernoulli::Args Bernoulli::grad(const Back<Bernoulli>& b) {
  Args g;
  g.x = none_like(b.dy);
  if (b.a.p) g.p = none_like(*b.a.p);
  return g;
}
void Bernoulli::samples(SampleList& s) {
  add_sample<Bernoulli>(s, {.x = cast(grid({2, 3}, 0, 1), DType::f32)});
  add_sample<Bernoulli>(s, {.x = ids({2, 3}, 3), .p = Tensor::number(0.3)});
  add_sample<Bernoulli>(
      s, {.x = cast(grid({2, 3}, 0, 1), DType::f32), .p = cast(grid({3}, 0, 1), DType::f32)});
}

namespace {

constexpr int64_t kSearched = 16;  // elements that a binary search counts for

// Draws ids by the inverse of the summed weights.
void draw_again(const double* w, int64_t n, const double* u, int64_t count, int64_t* out) {
  CountedVector<double> sums;
  sums.reserve(static_cast<size_t>(n));
  Poll poll;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i, poll(1)) sums.push_back(sum += w[i]);
  for (int64_t j = 0; j < count; ++j, poll(kSearched)) {
    const double at = u[j] * sums.back();
    int64_t id = std::upper_bound(sums.begin(), sums.end(), at) - sums.begin();
    while (id >= n || w[id] == 0) --id, poll(1);  // rounding at the very end
    out[j] = id;
  }
}

// Draws ids without repeats: the first arrivals of a race in which id i arrives after an
// exponential time of rate w[i] (Efraimidis and Spirakis, 2006).
void draw_once(const double* w, int64_t n, const double* u, int64_t count, int64_t* out) {
  CountedVector<std::pair<double, int64_t>> arrivals;
  arrivals.reserve(static_cast<size_t>(n));
  Poll poll;
  for (int64_t i = 0; i < n; ++i, poll(1))
    if (w[i] > 0) arrivals.emplace_back(-std::log1p(-u[i]) / w[i], i);
  const auto sooner = [&](const auto& a, const auto& b) {
    poll(1);
    return a < b;
  };
  std::partial_sort(arrivals.begin(), arrivals.begin() + count, arrivals.end(), sooner);
  for (int64_t j = 0; j < count; ++j, poll(1)) out[j] = arrivals[static_cast<size_t>(j)].second;
}

// Raises what is wrong with a row of weights.
void check_weights(const double* w, int64_t n, int64_t row, int64_t wanted) {
  int64_t positive = 0;
  Poll poll;
  for (int64_t i = 0; i < n; ++i, poll(1)) {
    if (!(w[i] >= 0) || std::isinf(w[i]))
      throw arg_error("weights must be finite and not negative, got {} in row {}", w[i], row + 1)
          .of("x");
    positive += w[i] > 0;
  }
  if (positive < wanted)
    throw arg_error("{} draws from row {}, where {} weights are not 0", wanted, row + 1, positive)
        .of("x")
        .hint("pass { replacement = true } where ids may repeat");
}

}  // namespace

Meta Multinomial::infer(const Args& a) {
  if (!a.x.is_float())
    throw dtype_error("'x' must be a float tensor, got {}", rille::name(a.x.dtype())).of("x");
  if (a.x.rank() != 1 && a.x.rank() != 2)
    throw shape_error("'x' must be [n] or [rows, n], got {}", to_string(a.x.shape())).of("x");
  if (a.count < 1) throw arg_error("'count' must be at least 1, got {}", a.count);
  Shape s = a.x.shape();
  s[s.size() - 1] = a.count;
  return meta_of(s, DType::i64, a.x);
}
void Multinomial::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const Tensor w = contiguous(cast(a.x, DType::f64));
  const int64_t n = w.size(-1), rows = w.rank() == 1 ? 1 : w.size(0);
  const int64_t numbers_a_row = a.replacement ? a.count : n;
  const Tensor u = Tensor::empty({rows, numbers_a_row}, DType::f64);
  cpu::uniform(DType::f64, u.data(), u.numel(), 0, 1, numbers(a.draw));
  Poll poll;
  for (int64_t r = 0; r < rows; ++r, poll(n + a.count)) {
    const double* row = w.data_as<double>() + r * n;
    check_weights(row, n, r, a.replacement ? 1 : a.count);
    const double* draws = u.data_as<double>() + r * numbers_a_row;
    int64_t* out = y.data_as<int64_t>() + r * a.count;
    if (a.replacement)
      draw_again(row, n, draws, a.count, out);
    else
      draw_once(row, n, draws, a.count, out);
  }
}
void Multinomial::samples(SampleList& s) {
  add_sample<Multinomial>(s, {.x = cast(grid({5}, 0, 1), DType::f32), .count = 3});
  add_sample<Multinomial>(
      s, {.x = cast(strided(grid({2, 4}, 0, 1)), DType::f32), .count = 6, .replacement = true});
}

OpFamily family_random() {
  return list_ops(OpList<Rand, Randn, Randint, Randperm, Normal, RandomMask, RandLike, RandnLike,
                         RandintLike, Uniform, NormalLike, Exponential, Bernoulli, Multinomial>{},
                  "random");
}

}  // namespace rille
