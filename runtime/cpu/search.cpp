#include "cpu/search.h"

#include <cmath>
#include <numeric>

#include "core/threads.h"
#include "cpu/sort_keys.h"

namespace rille::cpu {
namespace {

// Rows in groups as `equal` says of neighbours in `order`.
template <class Equal>
Groups group(const std::vector<int64_t>& order, Equal&& equal, int64_t* group_of) {
  Groups g;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !equal(order[i - 1], order[i])) {
      g.first.push_back(order[i]);
      g.counts.push_back(0);
    }
    ++g.counts.back();
    if (group_of) group_of[order[i]] = static_cast<int64_t>(g.first.size()) - 1;
  }
  return g;
}

// The elements as integers of their order; nan is the largest of floats.
std::vector<uint64_t> keys_of(const Tensor& x) {
  std::vector<uint64_t> keys(static_cast<size_t>(x.numel()));
  const auto fill = [&]<class A>() {
    std::vector<A> wide(keys.size());
    convert(x.dtype(), x.data(), kKeyDType<A>, wide.data(), x.numel());
    for (size_t i = 0; i < keys.size(); ++i) keys[i] = key_of(wide[i]);
  };
  if (x.is_float())
    fill.template operator()<double>();
  else
    fill.template operator()<int64_t>();
  return keys;
}

std::vector<int64_t> ascending(const Tensor& x, int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  with_items(x.dtype(), n, [&]<class Item, class A>() {
    Scratch<Item> items(n), room(n);
    make_items<Item, A>(x.dtype(), x.data(), 1, n, false, items.data());
    sort_items(items.data(), room.data(), n);
    for (int64_t i = 0; i < n; ++i) order[static_cast<size_t>(i)] = items[i].at();
  });
  return order;
}

}  // namespace

Groups unique_rows(const Tensor& x, int64_t n, int64_t width, bool consecutive, int64_t* group_of) {
  const std::vector<uint64_t> keys = keys_of(x);
  const auto row = [&](int64_t i) { return keys.begin() + i * width; };
  std::vector<int64_t> order;
  if (consecutive || width != 1) {
    order.resize(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    const auto below = [&](int64_t a, int64_t b) {
      return std::lexicographical_compare(row(a), row(a) + width, row(b), row(b) + width);
    };
    if (!consecutive) std::stable_sort(order.begin(), order.end(), below);
  } else {
    order = ascending(x, n);
  }
  const uint64_t nan = x.is_float() ? ~uint64_t{0} : 0;
  const auto equal = [&](int64_t a, int64_t b) {
    return std::equal(row(a), row(a) + width, row(b),
                      [&](uint64_t p, uint64_t q) { return p == q && (nan == 0 || p != nan); });
  };
  return group(order, equal, group_of);
}

void count_values(const Tensor& x, const Tensor* weights, Tensor& counts) {
  const int64_t item = static_cast<int64_t>(size_of(x.dtype()));
  const char* from = static_cast<const char*>(x.data());
  for (int64_t i = 0; i < x.numel(); ++i) {
    const int64_t at = load_integer(x.dtype(), from + i * item);
    if (weights)
      counts.data_as<double>()[at] += load_element(weights->dtype(), element_at(*weights, i));
    else
      ++counts.data_as<int64_t>()[at];
  }
}

void histogram(const Tensor& x, int64_t bins, double low, double high, double* counts) {
  constexpr int64_t kBlock = 1024;
  const double scale = static_cast<double>(bins) / (high - low);
  double block[kBlock];
  for (int64_t i = 0; i < x.numel(); i += kBlock) {
    const int64_t m = std::min(kBlock, x.numel() - i);
    convert(x.dtype(), element_at(x, i), DType::f64, block, m);
    for (int64_t j = 0; j < m; ++j) {
      if (!(block[j] >= low && block[j] <= high)) continue;
      const auto bin = static_cast<int64_t>((block[j] - low) * scale);
      ++counts[std::min(bin, bins - 1)];
    }
  }
}

void search_sorted(const Tensor& sorted, const Tensor& values, bool right, int64_t* ids) {
  const int64_t n = sorted.rank() > 0 ? sorted.shape().back() : 1;
  const int64_t lines = n > 0 ? sorted.numel() / n : 1;
  const int64_t per_line = std::max<int64_t>(1, values.numel() / std::max<int64_t>(1, lines));
  const bool floats = sorted.is_float() || values.is_float();
  const auto run = [&]<class A>() {
    std::vector<A> line(static_cast<size_t>(sorted.numel())),
        wanted(static_cast<size_t>(values.numel()));
    convert(sorted.dtype(), sorted.data(), kKeyDType<A>, line.data(), sorted.numel());
    convert(values.dtype(), values.data(), kKeyDType<A>, wanted.data(), values.numel());
    const auto below = [](A a, A b) { return key_of(a) < key_of(b); };
    parallel_for(values.numel(), 4096, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const auto begin = line.begin() + (lines == 1 ? 0 : i / per_line * n), end = begin + n;
        const A v = wanted[static_cast<size_t>(i)];
        ids[i] = (right ? std::upper_bound(begin, end, v, below)
                        : std::lower_bound(begin, end, v, below)) -
                 begin;
      }
    });
  };
  if (floats)
    run.template operator()<double>();
  else
    run.template operator()<int64_t>();
}

}  // namespace rille::cpu
