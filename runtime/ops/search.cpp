#include "ops/search.h"

#include <algorithm>

#include "core/budget.h"
#include "core/fail.h"
#include "core/sizes.h"
#include "cpu/search.h"
#include "ops/cast.h"
#include "ops/create.h"
#include "ops/extreme.h"
#include "ops/families.h"
#include "ops/index.h"
#include "ops/register.h"
#include "ops/view.h"

namespace rille {
namespace {

Tensor of_integers(const CountedVector<int64_t>& v) {
  Tensor t = Tensor::empty({static_cast<int64_t>(v.size())}, DType::i64);
  polled(t.numel(), [&](int64_t begin, int64_t end) {
    std::copy(v.data() + begin, v.data() + end, t.data_as<int64_t>() + begin);
  });
  return t;
}

std::vector<Tensor> chosen(const UniqueParts::Out& parts, bool inverse, bool counts) {
  std::vector<Tensor> out{parts.values};
  if (inverse) out.push_back(parts.inverse);
  if (counts) out.push_back(parts.counts);
  return out;
}

}  // namespace

// ---- unique -----------------------------------------------------------------------------------

std::array<Meta, 3> UniqueParts::infer(const Args& a) {
  if (a.dim) axis(a.dim->value, a.x.rank());
  return {meta_of({0}, a.x.dtype(), a.x), meta_of({0}, DType::i64, a.x),
          meta_of({0}, DType::i64, a.x)};
}
void UniqueParts::cpu(const Args& a, Out& y) {
  const NoGrad quiet;
  const bool whole = !a.dim || a.x.rank() == 0;
  const int d = whole ? 0 : axis(a.dim->value, a.x.rank());
  const Tensor rows = contiguous(whole ? reshape(a.x, {a.x.numel()}) : transpose(a.x, d, 0));
  const int64_t n = rows.size(0), width = n > 0 ? rows.numel() / n : 1;
  y.inverse = Tensor::empty(whole ? a.x.shape() : Shape{n}, DType::i64);
  const cpu::Groups g =
      cpu::unique_rows(rows, n, width, a.consecutive, y.inverse.data_as<int64_t>());
  y.counts = of_integers(g.counts);
  y.values = index_select(rows, 0, of_integers(g.first));
  if (!whole) y.values = contiguous(transpose(y.values, d, 0));
}
void UniqueParts::samples(SampleList& s) {
  add_sample<UniqueParts>(s, {.x = ids({3, 4}, 5)});
  add_sample<UniqueParts>(s, {.x = strided(ids({4, 2}, 2)), .dim = Axis{0}});
  add_sample<UniqueParts>(s, {.x = ids({0}, 1)});
}

Unique::Out Unique::compose(const Args& a) {
  return chosen(call<UniqueParts>({.x = a.x, .dim = a.dim}), a.return_inverse, a.return_counts);
}
void Unique::samples(SampleList& s) {
  add_sample<Unique>(s, {.x = ids({3, 4}, 5), .return_inverse = true, .return_counts = true});
  add_sample<Unique>(s, {.x = ids({3, 4}, 2), .dim = Axis{1}});
}

UniqueConsecutive::Out UniqueConsecutive::compose(const Args& a) {
  return chosen(call<UniqueParts>({.x = a.x, .dim = a.dim, .consecutive = true}), a.return_inverse,
                a.return_counts);
}
void UniqueConsecutive::samples(SampleList& s) {
  add_sample<UniqueConsecutive>(s,
                                {.x = ids({12}, 2), .return_inverse = true, .return_counts = true});
}

// ---- counts -----------------------------------------------------------------------------------

Meta Bincount::infer(const Args& a) {
  if (is_float(a.x.dtype()))
    throw dtype_error("'x' must hold integers, got {}", rille::name(a.x.dtype())).of("x");
  if (a.x.rank() != 1)
    throw shape_error("'x' must have one dim, got {}", to_string(a.x.shape())).of("x");
  if (a.weights && a.weights->shape() != a.x.shape())
    throw shape_error("{} weights for {} elements", a.weights->numel(), a.x.numel())
        .of("weights", "x");
  if (a.minlength < 0) throw arg_error("'minlength' must not be negative, got {}", a.minlength);
  const DType d = !a.weights ? DType::i64 : a.weights->is_float() ? a.weights->dtype() : DType::f64;
  return meta_of({0}, d, a.x);
}
void Bincount::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const Tensor x = contiguous(a.x);
  int64_t n = a.minlength;
  Poll poll;
  for (int64_t i = 0; i < x.numel(); ++i, poll(1)) {
    const int64_t v = load_integer(
        x.dtype(), static_cast<char*>(x.data()) + i * static_cast<int64_t>(size_of(x.dtype())));
    if (v < 0) throw arg_error("'x' must not hold negative numbers, got {}", v).of("x");
    n = std::max<int64_t>(n, Checked(v) + 1);
  }
  Tensor counts = full({n}, 0, a.weights ? DType::f64 : DType::i64);
  const Tensor weights = a.weights ? contiguous(*a.weights) : Tensor();
  cpu::count_values(x, a.weights ? &weights : nullptr, counts);
  y = cast(counts, infer(a).dtype);
}
Bincount::Args Bincount::grad(const Back<Bincount>& b) {
  return {.x = {}, .weights = index_select(b.dy, 0, b.a.x)};
}
void Bincount::samples(SampleList& s) {
  add_sample<Bincount>(s, {.x = ids({9}, 6)});
  add_sample<Bincount>(s, {.x = ids({9}, 6), .weights = grid({9}, -1, 1), .minlength = 8});
  add_sample<Bincount>(s, {.x = ids({0}, 1), .minlength = 2});
}

Meta Histc::infer(const Args& a) {
  if (a.bins < 1) throw arg_error("'bins' must be at least 1, got {}", a.bins);
  if (!(a.min <= a.max))
    throw arg_error("'min' must not exceed 'max', got {} and {}", a.min, a.max);
  return meta_of({a.bins}, a.x.dtype(), a.x);
}
void Histc::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  const Tensor x = contiguous(a.x);
  double low = a.min, high = a.max;
  if (low == high && x.numel() > 0) {
    low = call<Amin>({.x = x}).item();
    high = call<Amax>({.x = x}).item();
    if (!std::isfinite(low) || !std::isfinite(high))
      throw arg_error("the range of 'x' is not finite: from {} to {}", low, high)
          .of("x")
          .hint("give min and max");
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  const Tensor counts = full({a.bins}, 0, DType::f64);
  cpu::histogram(x, a.bins, low, high, counts.data_as<double>());
  copy_(y, counts);
}
void Histc::samples(SampleList& s) {
  add_sample<Histc>(s, {.x = grid({3, 4}, -1, 1), .bins = 5});
  add_sample<Histc>(s, {.x = strided(grid({3, 4}, -1, 1)), .bins = 4, .min = -0.5, .max = 0.7});
  add_sample<Histc>(s, {.x = grid({0}, -1, 1), .bins = 3});
}

// ---- places -----------------------------------------------------------------------------------

Meta SearchSorted::infer(const Args& a) {
  const Shape &s = a.sorted.shape(), &v = a.values.shape();
  if (s.empty()) throw shape_error("'sorted' needs at least one dim").of("sorted");
  bool fits = s.size() == 1 || s.size() == v.size();
  for (int d = 0; fits && s.size() > 1 && d + 1 < s.size(); ++d) fits = s[d] == v[d];
  if (!fits)
    throw shape_error("lines {} for values {}: all dims but the last must match", to_string(s),
                      to_string(v))
        .of("sorted", "values");
  return meta_of(v, a.out_int32 ? DType::i32 : DType::i64, a.sorted);
}
void SearchSorted::cpu(const Args& a, Tensor& y) {
  const NoGrad quiet;
  if (!a.out_int32)
    return cpu::search_sorted(contiguous(a.sorted), contiguous(a.values), a.right,
                              y.data_as<int64_t>());
  const Tensor wide = Tensor::empty(y.shape(), DType::i64);
  cpu::search_sorted(contiguous(a.sorted), contiguous(a.values), a.right, wide.data_as<int64_t>());
  copy_(y, wide);
}
void SearchSorted::samples(SampleList& s) {
  const Tensor line = Tensor::of(std::array{-0.5, 0.0, 0.5, 0.5, 1.0, 2.0}, {6}, DType::f64);
  add_sample<SearchSorted>(s, {.sorted = line, .values = grid({2, 3}, -1, 3)});
  add_sample<SearchSorted>(s, {.sorted = line, .values = Tensor::number(0.5), .right = true});
  add_sample<SearchSorted>(
      s, {.sorted = reshape(line, {2, 3}), .values = grid({2, 4}, -1, 3), .out_int32 = true});
}

Tensor Bucketize::compose(const Args& a) {
  if (a.boundaries.rank() != 1)
    throw shape_error("'boundaries' must have one dim, got {}", to_string(a.boundaries.shape()))
        .of("boundaries");
  return call<SearchSorted>({a.boundaries, a.x, a.right, a.out_int32});
}
void Bucketize::samples(SampleList& s) {
  const Tensor line = Tensor::of(std::array{-0.5, 0.0, 0.5, 1.0}, {4}, DType::f64);
  add_sample<Bucketize>(s, {.x = grid({2, 3}, -1, 3), .boundaries = line});
  add_sample<Bucketize>(s, {.x = grid({2, 3}, -1, 3), .boundaries = line, .right = true});
}

OpFamily family_search() {
  return list_ops(
      OpList<UniqueParts, Unique, UniqueConsecutive, Bincount, Histc, SearchSorted, Bucketize>{},
      "search");
}

}  // namespace rille
