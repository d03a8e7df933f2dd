#include "cpu/sort.h"

#include <cmath>

#include "core/threads.h"
#include "cpu/sort_keys.h"

namespace rille::cpu {
namespace {

constexpr int64_t kRadixFrom = 512;  // items; below this comparing is faster
constexpr int64_t kPiece = 1 << 16;  // items of a long line that one task sorts

// Least significant digit first. Items of equal keys come in order of position, so it need not be a
// digit. Digits that all items share are skipped.
template <class Item>
void radix_sort(Item* items, Item* room, int64_t n) {
  constexpr int digits = sizeof(typename Item::Key);
  int64_t counts[digits][256] = {};
  for (int64_t i = 0; i < n; ++i) {
    const auto key = items[i].key();
    for (int d = 0; d < digits; ++d) ++counts[d][key >> (8 * d) & 255];
  }
  Item *from = items, *to = room;
  for (int d = 0; d < digits; ++d) {
    int64_t* count = counts[d];
    if (count[items[0].key() >> (8 * d) & 255] == n) continue;
    int64_t at = 0;
    for (int b = 0; b < 256; ++b) at += std::exchange(count[b], at);
    for (int64_t i = 0; i < n; ++i) to[count[from[i].key() >> (8 * d) & 255]++] = from[i];
    std::swap(from, to);
  }
  if (from != items) std::copy_n(from, n, items);
}

template <class Item>
void sort_short(Item* items, Item* room, int64_t n) {
  if (n >= kRadixFrom) radix_sort(items, room, n);
  else std::sort(items, items + n);
}

}  // namespace

// A long line is sorted in pieces, then merged two by two.
template <class Item>
void sort_items(Item* items, Item* room, int64_t n) {
  if (n <= 2 * kPiece) return sort_short(items, room, n);
  const int64_t pieces = (n + kPiece - 1) / kPiece;
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      const int64_t begin = p * kPiece;
      sort_short(items + begin, room + begin, std::min(kPiece, n - begin));
    }
  });
  Item *from = items, *to = room;
  for (int64_t width = kPiece; width < n; width *= 2) {
    parallel_for((n + 2 * width - 1) / (2 * width), 1, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        const int64_t a = p * 2 * width, b = std::min(n, a + width), c = std::min(n, b + width);
        std::merge(from + a, from + b, from + b, from + c, to + a);
      }
    });
    std::swap(from, to);
  }
  if (from != items) std::copy_n(from, n, items);
}
template void sort_items(ShortItem*, ShortItem*, int64_t);
template void sort_items(LongItem*, LongItem*, int64_t);

namespace {

int64_t item_size(const Tensor& t) { return static_cast<int64_t>(size_of(t.dtype())); }

// Calls body(line, items, room, valid) with the items of each line.
template <class F>
void each_line(const Tensor& x, int dim, bool descending, F&& body) {
  const Lines l(x, dim);
  with_items(x.dtype(), l.n, [&]<class Item, class A>() {
    parallel_for(l.count(), l.grain(2048), [&](int64_t first, int64_t last) {
      Scratch<Item> items(l.n), room(l.n);
      for (int64_t line = first; line < last; ++line) {
        const int64_t valid =
            make_items<Item, A>(x.dtype(), element_at(x, l.start(line)), l.inner, l.n, descending, items.data());
        body(line, items.data(), room.data(), valid);
      }
    });
  });
}

// Writes results of `per_line` elements along dim: the id, and what stands there in x.
struct Writer {
  Writer(const Tensor& x, int dim, int64_t per_line, Tensor* values, Tensor& ids)
      : x_(x), from_(x, dim), to_(from_), values_(values), ids_(ids) {
    to_.n = per_line;
  }
  void put(int64_t line, int64_t i, int64_t id) {
    const int64_t to = to_.start(line) + i * to_.inner;
    ids_.data_as<int64_t>()[to] = id;
    if (!values_) return;
    const char* from = element_at(x_, from_.start(line) + id * from_.inner);
    std::memcpy(element_of(*values_, to), from, static_cast<size_t>(item_size(x_)));
  }

 private:
  const Tensor& x_;
  Lines from_, to_;
  Tensor* values_;
  Tensor& ids_;
};

}  // namespace

void sort(const Tensor& x, int dim, bool descending, Tensor* values, Tensor& ids) {
  if (x.numel() == 0) return;
  const int64_t n = Lines(x, dim).n;
  Writer w(x, dim, n, values, ids);
  each_line(x, dim, descending, [&](int64_t line, auto* items, auto* room, int64_t) {
    sort_items(items, room, n);
    for (int64_t i = 0; i < n; ++i) w.put(line, i, items[i].at());
  });
}

void top(const Tensor& x, int dim, int64_t k, bool largest, Tensor& values, Tensor& ids) {
  if (ids.numel() == 0) return;
  Writer w(x, dim, k, &values, ids);
  const int64_t n = Lines(x, dim).n;
  each_line(x, dim, largest, [&](int64_t line, auto* items, auto* room, int64_t) {
    if (k < n) std::nth_element(items, items + k, items + n);
    sort_items(items, room, k);
    for (int64_t i = 0; i < k; ++i) w.put(line, i, items[i].at());
  });
}

void select(const Tensor& x, int dim, Rank what, int64_t k, Tensor& values, Tensor& ids) {
  if (ids.numel() == 0) return;
  Writer w(x, dim, 1, &values, ids);
  const int64_t n = Lines(x, dim).n;
  each_line(x, dim, false, [&](int64_t line, auto* items, auto*, int64_t valid) {
    int64_t rank = k;
    if (what == Rank::median) rank = valid == n ? (n - 1) / 2 : valid;
    if (what == Rank::nan_median) rank = std::max<int64_t>(0, (valid - 1) / 2);
    std::nth_element(items, items + rank, items + n);
    w.put(line, 0, items[rank].at());
  });
}

void mode(const Tensor& x, int dim, Tensor& values, Tensor& ids) {
  if (ids.numel() == 0) return;
  Writer w(x, dim, 1, &values, ids);
  const int64_t n = Lines(x, dim).n;
  each_line(x, dim, false, [&](int64_t line, auto* items, auto* room, int64_t) {
    sort_items(items, room, n);
    int64_t best = 0, longest = 0;
    for (int64_t i = 0, begin = 0; i < n; ++i) {
      if (items[i].key() != items[begin].key()) begin = i;
      if (i - begin + 1 > longest) {
        longest = i - begin + 1;
        best = i;
      }
    }
    w.put(line, 0, items[best].at());
  });
}

void quantile_ids(const Tensor& x, int dim, const std::vector<double>& q, Between how, bool skip_nan,
                  Tensor& low, Tensor& high, Tensor& weight) {
  if (low.numel() == 0) return;
  const int64_t n = Lines(x, dim).n, m = static_cast<int64_t>(q.size());
  each_line(x, dim, false, [&](int64_t line, auto* items, auto* room, int64_t valid) {
    sort_items(items, room, n);
    for (int64_t i = 0; i < m; ++i) {
      // nan is what a line with a nan gives: the last of the sorted.
      const bool nan = skip_nan ? valid == 0 : valid < n;
      double at = nan ? static_cast<double>(n - 1) : q[static_cast<size_t>(i)] * static_cast<double>(valid - 1);
      if (how == Between::lower) at = std::floor(at);
      if (how == Between::higher) at = std::ceil(at);
      if (how == Between::nearest) at = std::nearbyint(at);
      const auto below = static_cast<int64_t>(std::floor(at)), above = static_cast<int64_t>(std::ceil(at));
      const double part = how == Between::midpoint ? (above > below ? 0.5 : 0.0) : at - std::floor(at);
      low.data_as<int64_t>()[line * m + i] = items[below].at();
      high.data_as<int64_t>()[line * m + i] = items[above].at();
      store_element(weight.dtype(), element_of(weight, line * m + i), part);
    }
  });
}

}  // namespace rille::cpu
