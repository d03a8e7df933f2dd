#include "cpu/search.h"

#include <cmath>
#include <numeric>

#include "core/budget.h"
#include "core/threads.h"
#include "cpu/sort_keys.h"

namespace rille::cpu {
namespace {

// Rows in groups as `equal` says of neighbours in `order`, which is used up: the first row of a
// group is turned into its complement. Counting groups first spares vectors that copy as they grow.
template <class Equal>
Groups group(const Scratch<int64_t>& order, int64_t n, int64_t width, Equal&& equal,
             int64_t* group_of) {
  Groups g;
  size_t groups = 0;
  Poll poll;
  for (int64_t i = 0, before = 0; i < n; ++i, poll(width)) {
    const int64_t row = order[i];
    if (i == 0 || !equal(before, row)) {
      order[i] = ~row;
      ++groups;
    }
    before = row;
  }
  g.first.reserve(groups);
  g.counts.reserve(groups);
  for (int64_t i = 0; i < n; ++i, poll(1)) {
    const int64_t row = order[i] < 0 ? ~order[i] : order[i];
    if (order[i] < 0) {
      g.first.push_back(row);
      g.counts.push_back(0);
    }
    ++g.counts.back();
    if (group_of) group_of[row] = static_cast<int64_t>(g.first.size()) - 1;
  }
  return g;
}

// The elements as integers of their order; nan is the largest of floats.
Scratch<uint64_t> keys_of(const Tensor& x) {
  Scratch<uint64_t> keys(x.numel());
  const auto fill = [&]<class A>() {
    constexpr int64_t kBlock = 1024;
    parallel_for(x.numel(), 16 * kBlock, [&](int64_t first, int64_t last) {
      [[gnu::uninitialized]] A wide[kBlock];
      for (int64_t i = first; i < last; i += kBlock) {
        const int64_t m = std::min(kBlock, last - i);
        convert(x.dtype(), element_at(x, i), kKeyDType<A>, wide, m);
        for (int64_t j = 0; j < m; ++j) keys[i + j] = key_of(wide[j]);
      }
    });
  };
  if (x.is_float())
    fill.template operator()<double>();
  else
    fill.template operator()<int64_t>();
  return keys;
}

void sort_elements(const Tensor& x, const Scratch<int64_t>& order, int64_t n) {
  with_items(x.dtype(), n, [&]<class Item, class A>() {
    Scratch<Item> items(n), room(n);
    make_items<Item, A>(x.dtype(), x.data(), 1, n, false, items.data());
    sort_items(items.data(), room.data(), n);
    polled(n, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) order[i] = items[i].at();
    });
  });
}

}  // namespace

Groups unique_rows(const Tensor& x, int64_t n, int64_t width, bool consecutive, int64_t* group_of) {
  const Scratch<uint64_t> keys = keys_of(x);
  const auto row = [&](int64_t i) { return keys.data() + i * width; };
  const Scratch<int64_t> order(n);
  if (consecutive || width != 1) {
    polled(n, [&](int64_t i, int64_t end) { std::iota(order.data() + i, order.data() + end, i); });
    Poll poll;  // an exception leaves the order of the rows unfinished, and nobody sees it
    const auto below = [&](int64_t a, int64_t b) {
      poll(width);
      return std::lexicographical_compare(row(a), row(a) + width, row(b), row(b) + width);
    };
    if (!consecutive) std::stable_sort(order.data(), order.data() + n, below);
  } else {
    sort_elements(x, order, n);
  }
  const uint64_t nan = x.is_float() ? ~uint64_t{0} : 0;
  const auto equal = [&](int64_t a, int64_t b) {
    return std::equal(row(a), row(a) + width, row(b),
                      [&](uint64_t p, uint64_t q) { return p == q && (nan == 0 || p != nan); });
  };
  return group(order, n, width, equal, group_of);
}

void count_values(const Tensor& x, const Tensor* weights, Tensor& counts) {
  const int64_t item = static_cast<int64_t>(size_of(x.dtype()));
  const char* from = static_cast<const char*>(x.data());
  polled(x.numel(), [&](int64_t i, int64_t end) {
    for (; i < end; ++i) {
      const int64_t at = load_integer(x.dtype(), from + i * item);
      if (weights)
        counts.data_as<double>()[at] += load_element(weights->dtype(), element_at(*weights, i));
      else
        ++counts.data_as<int64_t>()[at];
    }
  });
}

void histogram(const Tensor& x, int64_t bins, double low, double high, double* counts) {
  constexpr int64_t kBlock = 1024;
  const double scale = static_cast<double>(bins) / (high - low);
  double block[kBlock];
  Poll poll;
  for (int64_t i = 0; i < x.numel(); i += kBlock) {
    const int64_t m = std::min(kBlock, x.numel() - i);
    poll(m);
    convert(x.dtype(), element_at(x, i), DType::f64, block, m);
    for (int64_t j = 0; j < m; ++j) {
      if (!(block[j] >= low && block[j] <= high)) continue;
      const double place = (block[j] - low) * scale;  // nan where the range is infinite
      ++counts[place < static_cast<double>(bins) ? static_cast<int64_t>(place) : bins - 1];
    }
  }
}

namespace {

template <class A>
Scratch<A> as_keys(const Tensor& x) {
  Scratch<A> out(x.numel());
  polled(x.numel(), [&](int64_t i, int64_t end) {
    convert(x.dtype(), element_at(x, i), kKeyDType<A>, out.data() + i, end - i);
  });
  return out;
}

}  // namespace

void search_sorted(const Tensor& sorted, const Tensor& values, bool right, int64_t* ids) {
  const int64_t n = sorted.rank() > 0 ? sorted.shape().back() : 1;
  const int64_t lines = n > 0 ? sorted.numel() / n : 1;
  const int64_t per_line = std::max<int64_t>(1, values.numel() / std::max<int64_t>(1, lines));
  const bool floats = sorted.is_float() || values.is_float();
  const auto run = [&]<class A>() {
    const Scratch<A> line = as_keys<A>(sorted), wanted = as_keys<A>(values);
    const auto below = [](A a, A b) { return key_of(a) < key_of(b); };
    parallel_for(values.numel(), 4096, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const A *begin = line.data() + (lines == 1 ? 0 : i / per_line * n), *end = begin + n;
        const A v = wanted[i];
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
