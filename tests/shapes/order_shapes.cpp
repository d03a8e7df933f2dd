// Sorting, ranks, quantiles and scans along any dim, against the library's sorts and loops over one
// line at a time.
#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "core/fail.h"
#include "cpu/scan.h"
#include "cpu/sort.h"
#include "shapes/shapes.h"

namespace rille::shapes {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// A packed tensor looked at along one dim.
struct Lines {
  Tensor x;
  int dim;
  int64_t outer = 1, n = 1, inner = 1;
  Lines(const Tensor& t, int d) : x(t), dim(d) {
    for (int i = 0; i < t.rank(); ++i) (i < d ? outer : i == d ? n : inner) *= t.shape()[i];
  }
  int64_t count() const { return outer * inner; }
  size_t of(int64_t line, int64_t i, int64_t length) const {
    return at((line / inner * length + i) * inner + line % inner);
  }
  Values line(const Values& v, int64_t l) const {
    Values row(at(n));
    for (int64_t i = 0; i < n; ++i) row[at(i)] = v[of(l, i, n)];
    return row;
  }
  Shape with(int64_t length) const {
    Shape s = x.shape();
    s[dim] = length;
    return s;
  }
  Shape without() const {
    Shape s;
    for (int i = 0; i < x.rank(); ++i)
      if (i != dim) s.push_back(x.shape()[i]);
    return s;
  }
  std::string text() const {
    return fmt::format("{} {} dim {}", name(x.dtype()), to_string(x.shape()), dim);
  }
};

// Few different values, so that many are equal; some nan, infinities and both zeros.
Lines choose(Dice& dice, bool odd = true, int64_t least = 0) {
  const int rank = static_cast<int>(dice.between(1, 4)),
            dim = static_cast<int>(dice.between(0, rank - 1));
  Shape shape = dice.shape(rank, dice.one_in(8) ? 150000 : 5000);
  shape[dim] = std::max(shape[dim], least);
  const DType d = dice.any_type();
  const bool few = dice.flip();
  const double low = d == DType::u8 || d == DType::boolean ? 0 : -9;
  const Tensor x = packed_tensor(dice, shape, d, low, d == DType::boolean ? 1 : 9);
  const bool spoilt = odd && is_float(d) && dice.one_in(3);
  const size_t item = size_of(d);
  for (size_t i = 0; is_float(d) && i < at(x.numel()); ++i) {
    char* p = x.data_as<char>() + i * item;
    if (few) store_element(d, p, std::trunc(load_element(d, p) / 3));  // -0 too
    if (spoilt && dice.one_in(9)) store_element(d, p, dice.any_of({std::nan(""), kInf, -kInf}));
  }
  return Lines(x, dim);
}

bool below(double a, double b) { return std::isnan(a) ? false : std::isnan(b) || a < b; }

std::vector<size_t> order_of(const Values& v, bool descending) {
  std::vector<size_t> order(v.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return descending ? below(v[b], v[a]) : below(v[a], v[b]);
  });
  return order;
}

// Where each line gives `length` places of itself.
template <class Choose>
std::pair<Wants, Wants> picked(const Lines& l, int64_t length, const Choose& choose_places) {
  const Values v = values_of(l.x);
  Wants values(at(l.count() * length), {0}), ids = values;
  for (int64_t line = 0; line < l.count(); ++line) {
    const Values row = l.line(v, line);
    const std::vector<size_t> places = choose_places(row);
    for (int64_t i = 0; i < length; ++i) {
      const size_t to = l.of(line, i, length);
      values[to] = {row[places[at(i)]]}, ids[to] = {static_cast<double>(places[at(i)])};
    }
  }
  return {values, ids};
}

template <class Kernel>
std::string check_picked(const Lines& l, const Shape& shape, const std::pair<Wants, Wants>& want,
                         const Kernel& kernel) {
  return with_threads(
      [&] {
        std::vector<Tensor> r{Tensor::empty(shape, l.x.dtype()), Tensor::empty(shape, DType::i64)};
        kernel(r[0], r[1]);
        return r;
      },
      [&](const std::vector<Tensor>& r) {
        const std::string wrong = differs("values", r[0], want.first);
        return wrong.empty() ? differs("ids", r[1], want.second) : wrong;
      });
}

Outcome sort(Dice& dice) {
  const Lines l = choose(dice);
  const bool descending = dice.flip();
  const auto want = picked(l, l.n, [&](const Values& v) { return order_of(v, descending); });
  return {l.text() + (descending ? " descending" : ""),
          check_picked(l, l.x.shape(), want, [&](Tensor& values, Tensor& ids) {
            cpu::sort(l.x, l.dim, descending, &values, ids);
          })};
}

Outcome top(Dice& dice) {
  const Lines l = choose(dice);
  const bool largest = dice.flip();
  const int64_t k = dice.flip() ? dice.between(0, l.n) : dice.between(0, std::min<int64_t>(l.n, 6));
  const auto want = picked(l, k, [&](const Values& v) { return order_of(v, largest); });
  return {fmt::format("{} k {} largest {}", l.text(), k, largest),
          check_picked(l, l.with(k), want, [&](Tensor& values, Tensor& ids) {
            cpu::top(l.x, l.dim, k, largest, values, ids);
          })};
}

Outcome select(Dice& dice) {
  const Lines l = choose(dice, true, 1);
  const auto what = dice.any_of({cpu::Rank::kth, cpu::Rank::median, cpu::Rank::nan_median});
  const int64_t k = dice.between(0, l.n - 1);
  const auto want = picked(l, 1, [&](const Values& v) {
    const std::vector<size_t> order = order_of(v, false);
    const int64_t nans = std::count_if(v.begin(), v.end(), [](double e) { return std::isnan(e); }),
                  valid = l.n - nans;
    int64_t rank = k;
    if (what == cpu::Rank::median) rank = nans > 0 ? valid : (l.n - 1) / 2;  // the first nan
    if (what == cpu::Rank::nan_median) rank = valid > 0 ? (valid - 1) / 2 : 0;
    return std::vector<size_t>{order[at(rank)]};
  });
  return {fmt::format("{} rank {} k {}", l.text(), static_cast<int>(what), k),
          check_picked(l, l.without(), want, [&](Tensor& values, Tensor& ids) {
            cpu::select(l.x, l.dim, what, k, values, ids);
          })};
}

Outcome mode(Dice& dice) {
  const Lines l = choose(dice, true, 1);
  const auto want = picked(l, 1, [&](const Values& v) {
    const std::vector<size_t> order = order_of(v, false);
    size_t best = 0, longest = 0;
    for (size_t i = 0; i < order.size();) {
      size_t end = i + 1;
      while (end < order.size() && v[order[end]] == v[order[i]]) ++end;
      if (end - i > longest) longest = end - i, best = order[end - 1];
      i = end;
    }
    return std::vector<size_t>{best};
  });
  return {l.text(), check_picked(l, l.without(), want, [&](Tensor& values, Tensor& ids) {
            cpu::mode(l.x, l.dim, values, ids);
          })};
}

// Quantiles lie between two of the sorted elements; nan where one is met, or is all there is.
Outcome quantile(Dice& dice) {
  Lines l = choose(dice, true, 1);
  if (!is_float(l.x.dtype())) return {};
  const auto how = dice.any_of({cpu::Between::linear, cpu::Between::lower, cpu::Between::higher,
                                cpu::Between::midpoint, cpu::Between::nearest});
  const bool skip_nan = dice.flip();
  Values q(at(dice.between(0, 5)));
  const auto last = static_cast<double>(l.n - 1);
  for (double& one : q)
    one = dice.flip() ? dice.real(0, 1) : dice.whole(0, l.n - 1) / std::max(1.0, last);
  const auto m = static_cast<int64_t>(q.size());
  const Values v = values_of(l.x);
  Wants low, high, weight;
  for (int64_t line = 0; line < l.count(); ++line) {
    const Values row = l.line(v, line);
    const std::vector<size_t> order = order_of(row, false);
    const auto valid = std::count_if(row.begin(), row.end(), [](double e) { return e == e; });
    const bool none = skip_nan ? valid == 0 : valid < l.n;
    for (const double one : q) {
      const double place = none ? last : one * (static_cast<double>(valid) - 1);
      double below = std::floor(place), above = std::ceil(place), part = place - below;
      switch (how) {
        case cpu::Between::linear: break;
        case cpu::Between::lower: above = below, part = 0; break;
        case cpu::Between::higher: below = above, part = 0; break;
        case cpu::Between::midpoint: part = above > below ? 0.5 : 0; break;
        case cpu::Between::nearest:
          // of two as near as each other, the even one
          if (part > 0.5 || (part == 0.5 && std::fmod(below, 2) != 0)) below = above;
          above = below, part = 0;
      }
      low.push_back({static_cast<double>(order[static_cast<size_t>(below)])});
      high.push_back({static_cast<double>(order[static_cast<size_t>(above)])});
      weight.push_back({part});
    }
  }
  const Shape shape{l.count(), m};
  return {fmt::format("{} q {} how {} skip_nan {}", l.text(), fmt::join(q, " "),
                      static_cast<int>(how), skip_nan),
          with_threads(
              [&] {
                std::vector<Tensor> r{Tensor::empty(shape, DType::i64),
                                      Tensor::empty(shape, DType::i64),
                                      Tensor::empty(shape, DType::f64)};
                cpu::quantile_ids(l.x, l.dim, q, how, skip_nan, r[0], r[1], r[2]);
                return r;
              },
              [&](const std::vector<Tensor>& r) {
                std::string wrong = differs("low", r[0], low);
                if (wrong.empty()) wrong = differs("high", r[1], high);
                return wrong.empty() ? differs("weight", r[2], weight) : wrong;
              })};
}

// ---- scans ------------------------------------------------------------------------------------

Outcome scan(Dice& dice) {
  Lines l = choose(dice, false);
  const auto what = dice.any_of({cpu::Scan::sum, cpu::Scan::prod, cpu::Scan::logsumexp});
  const bool reverse = dice.flip(), whole = !is_float(l.x.dtype());
  if (whole && what == cpu::Scan::logsumexp) return {};
  if (what == cpu::Scan::prod) {
    const bool small = !is_float(l.x.dtype()) || l.x.dtype() == DType::f16;
    l = Lines(packed_tensor(dice, l.x.shape(), l.x.dtype(), small ? 1 : 0.9, small ? 1 : 1.1),
              l.dim);
  }
  const DType out = whole ? DType::i64 : l.x.dtype();
  const Values v = values_of(l.x);
  Wants want(v.size(), {0});
  for (int64_t line = 0; line < l.count(); ++line) {
    long double sum = 0, size = 0, product = 1, total = -kInf;
    for (int64_t i = 0; i < l.n; ++i) {
      const size_t k = l.of(line, reverse ? l.n - 1 - i : i, l.n);
      sum += v[k], size += std::fabs(v[k]), product *= v[k];
      const long double high = std::max<long double>(total, v[k]);
      total =
          std::isinf(high) ? high : high + std::log(std::exp(total - high) + std::exp(v[k] - high));
      const double steps = static_cast<double>(i) + 3;
      const auto in_double = [&](long double value, long double magnitude) {
        Want w = rounded(out, static_cast<double>(value), 2 * steps, static_cast<double>(magnitude),
                         DType::f64);
        return w;
      };
      want[k] = what == cpu::Scan::sum    ? in_double(sum, size)
                : what == cpu::Scan::prod ? in_double(product, std::fabs(product))
                                          : in_double(total, 1 + std::fabs(total));
    }
  }
  return {fmt::format("{} scan {} reverse {}", l.text(), static_cast<int>(what), reverse),
          with_threads(
              [&] {
                Tensor y = Tensor::empty(l.x.shape(), out);
                cpu::scan(what, l.x, l.dim, reverse, y);
                return std::vector<Tensor>{y};
              },
              [&](const std::vector<Tensor>& r) { return differs("y", r[0], want); })};
}

// The last of equal elements counts, and of nans the last seen.
Outcome scan_extreme(Dice& dice) {
  const Lines l = choose(dice);
  const bool largest = dice.flip();
  const Values v = values_of(l.x);
  Wants values(v.size(), {0}), ids = values;
  for (int64_t line = 0; line < l.count(); ++line) {
    int64_t best = 0;
    for (int64_t i = 0; i < l.n; ++i) {
      const double now = v[l.of(line, i, l.n)], old = v[l.of(line, best, l.n)];
      if (std::isnan(now) || (!std::isnan(old) && (largest ? now >= old : now <= old))) best = i;
      const size_t k = l.of(line, i, l.n);
      values[k] = {v[l.of(line, best, l.n)]}, ids[k] = {static_cast<double>(best)};
    }
  }
  return {fmt::format("{} largest {}", l.text(), largest),
          check_picked(l, l.x.shape(), {values, ids}, [&](Tensor& y, Tensor& places) {
            cpu::scan_extreme(largest, l.x, l.dim, y, places);
          })};
}

Outcome scan_gradients(Dice& dice) {
  const int rank = static_cast<int>(dice.between(1, 3)),
            dim = static_cast<int>(dice.between(0, rank - 1));
  Shape shape = dice.shape(rank, 3000);
  shape[dim] = std::min<int64_t>(shape[dim], 60);  // the definition is cubic
  const DType d = dice.any_of({DType::f32, DType::f64});
  const Tensor x = packed_tensor(dice, shape, d, -1.2, 1.2), dy = packed_tensor(dice, shape, d);
  for (int64_t i = 0; i < x.numel(); ++i)
    if (dice.one_in(30))
      store_element(d, x.data_as<char>() + i * static_cast<int64_t>(size_of(d)), 0);
  const Lines l(x, dim);
  const Values v = values_of(x), g = values_of(dy);
  Tensor sums = Tensor::empty(shape, DType::f64);
  cpu::scan(cpu::Scan::logsumexp, x, dim, false, sums);
  const Values y = values_of(sums);
  Wants prods(v.size(), {0}), others = prods, logs = prods;
  const double n = 3 * static_cast<double>(l.n) + 20;
  for (int64_t line = 0; line < l.count(); ++line)
    for (int64_t i = 0; i < l.n; ++i) {
      Sum by_prod, by_log;
      double product = 1;
      for (int64_t k = 0; k < l.n; ++k) {
        if (k != i) product *= v[l.of(line, k, l.n)];
        if (k < i) continue;
        by_prod.add(g[l.of(line, k, l.n)], product);
        by_log.add(g[l.of(line, k, l.n)], std::exp(v[l.of(line, i, l.n)] - y[l.of(line, k, l.n)]));
      }
      const size_t to = l.of(line, i, l.n);
      prods[to] = by_prod.in(d, n), logs[to] = by_log.in(d, n);
      others[to] = rounded(d, product, n, std::fabs(product));
    }
  return {l.text(), with_threads(
                        [&] {
                          std::vector<Tensor> r;
                          for (int i = 0; i < 3; ++i) r.push_back(Tensor::empty(shape, d));
                          cpu::scan_prod_grad(x, dy, dim, r[0]);
                          cpu::products_of_others(x, dim, r[1]);
                          cpu::scan_logsumexp_grad(x, dy, dim, r[2]);
                          return r;
                        },
                        [&](const std::vector<Tensor>& r) {
                          std::string wrong = differs("cumprod", r[0], prods);
                          if (wrong.empty()) wrong = differs("others", r[1], others);
                          return wrong.empty() ? differs("logcumsumexp", r[2], logs) : wrong;
                        })};
}

const Family kFamily("order", {{"sort", 500, sort},
                               {"top", 500, top},
                               {"select", 400, select},
                               {"mode", 400, mode},
                               {"scan", 600, scan},
                               {"scan_extreme", 400, scan_extreme},
                               {"scan_gradients", 300, scan_gradients},
                               {"quantile", 400, quantile}});

}  // namespace
}  // namespace rille::shapes
