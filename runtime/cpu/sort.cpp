#include "cpu/sort.h"

#include <cmath>

#include "core/budget.h"
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
  if (n >= kRadixFrom)
    radix_sort(items, room, n);
  else
    std::sort(items, items + n);
}

}  // namespace

namespace {

// How many of the first `done` items of the merge of a and b come from a (the merge path).
template <class Item>
int64_t share_of(const Item* a, int64_t size_a, const Item* b, int64_t size_b, int64_t done) {
  int64_t low = std::max<int64_t>(0, done - size_b), high = std::min(done, size_a);
  while (low < high) {
    const int64_t mid = (low + high) / 2;
    if (b[done - mid - 1] < a[mid])
      high = mid;
    else
      low = mid + 1;
  }
  return low;
}

// Merges two runs that lie end to end, a piece of the result at a time: each piece begins where a
// search finds that the runs stand by then, so any of them can be the last.
template <class Item>
void merge_runs(const Item* a, int64_t size_a, int64_t size_b, Item* to) {
  const Item* b = a + size_a;
  polled(
      size_a + size_b,
      [&](int64_t begin, int64_t end) {
        const int64_t first = share_of(a, size_a, b, size_b, begin),
                      behind = share_of(a, size_a, b, size_b, end);
        std::merge(a + first, a + behind, b + begin - first, b + end - behind, to + begin);
      },
      kPiece);
}

// A long line is sorted in pieces, by sort_piece(items, room, n), then merged two by two.
template <class Item, class Sort>
void sort_in_pieces(Item* items, Item* room, int64_t n, Sort&& sort_piece) {
  if (n <= 2 * kPiece) return sort_piece(items, room, n);
  const int64_t pieces = (n + kPiece - 1) / kPiece;
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p) {
      const int64_t begin = p * kPiece;
      sort_piece(items + begin, room + begin, std::min(kPiece, n - begin));
    }
  });
  Item *from = items, *to = room;
  for (int64_t width = kPiece; width < n; width *= 2) {
    parallel_for((n + 2 * width - 1) / (2 * width), 1, [&](int64_t first, int64_t last) {
      for (int64_t p = first; p < last; ++p) {
        const int64_t a = p * 2 * width, b = std::min(n, a + width), c = std::min(n, b + width);
        merge_runs(from + a, b - a, c - b, to + a);
      }
    });
    std::swap(from, to);
  }
  if (from == items) return;
  polled(n,
         [&](int64_t begin, int64_t end) { std::copy(from + begin, from + end, items + begin); });
}

}  // namespace

template <class Item>
void sort_items(Item* items, Item* room, int64_t n) {
  sort_in_pieces(items, room, n, sort_short<Item>);
}
template void sort_items(ShortItem*, ShortItem*, int64_t);
template void sort_items(LongItem*, LongItem*, int64_t);

namespace {

// Calls body(line, items, room, valid) with the items of each line.
template <class F>
void each_line(const Tensor& x, int dim, bool descending, F&& body) {
  const Lines l(x, dim);
  with_items(x.dtype(), l.n, [&]<class Item, class A>() {
    parallel_for(l.count(), l.grain(2048), [&](int64_t first, int64_t last) {
      Scratch<Item> items(l.n), room(l.n);
      for (int64_t line = first; line < last; ++line) {
        const int64_t valid = make_items<Item, A>(x.dtype(), element_at(x, l.start(line)), l.inner,
                                                  l.n, descending, items.data());
        end_if_over();
        body(line, items.data(), room.data(), valid);
      }
    });
  });
}

template <class T>
void take(const char* from, int64_t stride, const int64_t* ids, char* to, int64_t step, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    std::memcpy(to + i * step * static_cast<int64_t>(sizeof(T)),
                from + ids[i * step] * stride * static_cast<int64_t>(sizeof(T)), sizeof(T));
}

// Writes results of `per_line` elements along dim: the ids, and what stands there in x.
struct Writer {
  Writer(const Tensor& x, int dim, int64_t per_line, Tensor* values, Tensor& ids)
      : x_(x), from_(x, dim), to_(from_), values_(values), ids_(ids) {
    to_.n = per_line;
  }
  template <class Item>
  void put(int64_t line, const Item* items) const {
    const int64_t at = to_.start(line), step = to_.inner;
    int64_t* ids = ids_.data_as<int64_t>() + at;
    polled(to_.n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ids[i * step] = items[i].at();
      if (values_) put_values(line, ids + begin * step, at + begin * step, end - begin);
    });
  }

 private:
  void put_values(int64_t line, const int64_t* ids, int64_t at, int64_t n) const {
    const int64_t step = to_.inner;
    const char* from = element_at(x_, from_.start(line));
    char* to = element_of(*values_, at);
    switch (size_of(x_.dtype())) {
      case 8: return take<uint64_t>(from, step, ids, to, step, n);
      case 4: return take<uint32_t>(from, step, ids, to, step, n);
      case 2: return take<uint16_t>(from, step, ids, to, step, n);
      default: return take<uint8_t>(from, step, ids, to, step, n);
    }
  }

  const Tensor& x_;
  Lines from_, to_;
  Tensor* values_;
  Tensor& ids_;
};

// std::nth_element for lines of any length: while the part that holds place k is long it is split
// at an item of a sorted sample, asking on the way. The item stands in the sample where k does in
// the part, so a few splits do, unless the order of the items was made to mislead the sample.
template <class Item>
void nth_item(Item* items, int64_t k, int64_t n) {
  constexpr int64_t sampled = 1024;
  constexpr int most_splits = 64;
  int64_t begin = 0, end = n;
  for (int splits = 0; end - begin > 2 * kPiece && splits < most_splits; ++splits) {
    [[gnu::uninitialized]] Item sample[sampled];
    const int64_t size = end - begin;
    for (int64_t i = 0; i < sampled; ++i) sample[i] = items[begin + i * (size / sampled)];
    std::sort(sample, sample + sampled);
    const double rank = static_cast<double>(k - begin) / static_cast<double>(size);
    const Item pivot = sample[static_cast<int64_t>(rank * static_cast<double>(sampled))];
    int64_t behind = begin;  // items below the pivot lie before it
    polled(size, [&](int64_t from, int64_t to) {
      for (int64_t i = begin + from; i < begin + to; ++i) {
        const Item one = items[i];
        items[i] = items[behind];
        items[behind] = one;
        behind += one < pivot;
      }
    });
    if (behind == begin) break;  // the pivot is the least
    (k < behind ? end : begin) = behind;
  }
  std::nth_element(items + begin, items + k, items + end);
}

// Moves the k smallest items to the front, sorted. Where k is small most items are only compared
// with the worst one kept so far. Choosing leaves the kept ones in no order of position, which
// sort_items relies on: they are compared, and where they are many all items are sorted instead.
template <class Item>
void smallest(Item* items, Item* room, int64_t n, int64_t k) {
  const int64_t capacity = 4 * k + 64;
  if (k >= kRadixFrom && capacity >= n) return sort_items(items, room, n);
  if (capacity < n) {
    nth_item(items, k, capacity);
    int64_t kept = k;
    Item worst = items[k];
    polled(n - k, [&](int64_t begin, int64_t end) {
      for (int64_t i = k + begin; i < k + end; ++i) {
        if (!(items[i] < worst)) continue;
        std::swap(items[kept++], items[i]);
        if (kept < capacity) continue;
        nth_item(items, k, kept);
        worst = items[k];
        kept = k;
      }
    });
    n = kept;
  }
  if (k < n) nth_item(items, k, n);
  sort_in_pieces(items, room, k,
                 [](Item* piece, Item*, int64_t m) { std::sort(piece, piece + m); });
}

}  // namespace

void sort(const Tensor& x, int dim, bool descending, Tensor* values, Tensor& ids) {
  if (x.numel() == 0) return;
  const int64_t n = Lines(x, dim).n;
  const Writer w(x, dim, n, values, ids);
  each_line(x, dim, descending, [&](int64_t line, auto* items, auto* room, int64_t) {
    sort_items(items, room, n);
    end_if_over();
    w.put(line, items);
  });
}

void top(const Tensor& x, int dim, int64_t k, bool largest, Tensor& values, Tensor& ids) {
  if (ids.numel() == 0) return;
  const Writer w(x, dim, k, &values, ids);
  const int64_t n = Lines(x, dim).n;
  each_line(x, dim, largest, [&](int64_t line, auto* items, auto* room, int64_t) {
    smallest(items, room, n, k);
    w.put(line, items);
  });
}

void select(const Tensor& x, int dim, Rank what, int64_t k, Tensor& values, Tensor& ids) {
  if (ids.numel() == 0) return;
  const Writer w(x, dim, 1, &values, ids);
  const int64_t n = Lines(x, dim).n;
  each_line(x, dim, false, [&](int64_t line, auto* items, auto*, int64_t valid) {
    int64_t rank = k;
    if (what == Rank::median) rank = valid == n ? (n - 1) / 2 : valid;
    if (what == Rank::nan_median) rank = std::max<int64_t>(0, (valid - 1) / 2);
    nth_item(items, rank, n);
    w.put(line, items + rank);
  });
}

void mode(const Tensor& x, int dim, Tensor& values, Tensor& ids) {
  if (ids.numel() == 0) return;
  const Writer w(x, dim, 1, &values, ids);
  const int64_t n = Lines(x, dim).n;
  each_line(x, dim, false, [&](int64_t line, auto* items, auto* room, int64_t valid) {
    sort_items(items, room, n);
    int64_t best = 0, longest = 0;
    Poll poll;
    for (int64_t i = 0, begin = 0; i < n; ++i, poll(1)) {
      if (i >= valid || items[i].key() != items[begin].key()) begin = i;  // a nan equals nothing
      if (i - begin + 1 > longest) {
        longest = i - begin + 1;
        best = i;
      }
    }
    w.put(line, items + best);
  });
}

void quantile_ids(const Tensor& x, int dim, const std::vector<double>& q, Between how,
                  bool skip_nan, Tensor& low, Tensor& high, Tensor& weight) {
  if (low.numel() == 0) return;
  const int64_t n = Lines(x, dim).n, m = static_cast<int64_t>(q.size());
  each_line(x, dim, false, [&](int64_t line, auto* items, auto* room, int64_t valid) {
    sort_items(items, room, n);
    for (int64_t i = 0; i < m; ++i) {
      // nan is what a line with a nan gives: the last of the sorted.
      const bool nan = skip_nan ? valid == 0 : valid < n;
      double at = nan ? static_cast<double>(n - 1)
                      : q[static_cast<size_t>(i)] * static_cast<double>(valid - 1);
      if (how == Between::lower) at = std::floor(at);
      if (how == Between::higher) at = std::ceil(at);
      if (how == Between::nearest) at = std::nearbyint(at);
      const auto below = static_cast<int64_t>(std::floor(at)),
                 above = static_cast<int64_t>(std::ceil(at));
      const double part =
          how == Between::midpoint ? (above > below ? 0.5 : 0.0) : at - std::floor(at);
      low.data_as<int64_t>()[line * m + i] = items[below].at();
      high.data_as<int64_t>()[line * m + i] = items[above].at();
      store_element(weight.dtype(), element_of(weight, line * m + i), part);
    }
  });
}

}  // namespace rille::cpu
