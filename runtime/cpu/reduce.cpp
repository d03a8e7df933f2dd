#include "cpu/reduce.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/budget.h"
#include "core/threads.h"
#include "cpu/convert.h"
#include "cpu/scratch.h"

namespace rille::cpu {
namespace {

constexpr int64_t kBlock = kReducerBlock;  // elements converted, or columns folded, at a time
constexpr int64_t kChunk = 1 << 16;        // elements of one result that one task folds
constexpr int64_t kShortRow = 32;          // rows below this are folded side by side, as columns
constexpr int64_t kFlushRows = 256;        // values a part takes before it is joined to its total
constexpr int64_t kEnoughTiles = 64;  // so many tiles keep all threads busy without cutting rows
constexpr int64_t kTaskElements = 1 << 16;  // enough to pay for waking a thread
constexpr int64_t kTotal = 8;

struct Dim {
  int64_t size, x, y;  // strides in elements
};

struct List {
  std::array<Dim, kMaxRank> d;
  int n = 0;
  Dim& back() { return d[static_cast<size_t>(n) - 1]; }
  const Dim& operator[](int i) const { return d[static_cast<size_t>(i)]; }
  int64_t count() const {
    int64_t c = 1;
    for (int i = 0; i < n; ++i) c *= (*this)[i].size;
    return c;
  }
  void merge(Dim next) {
    if (next.size == 1) return;
    if (n > 0 && back().x == next.x * next.size && back().y == next.y * next.size) {
      back() = {back().size * next.size, next.x, next.y};
    } else {
      d[static_cast<size_t>(n++)] = next;
    }
  }
};

// Where element `index` of the list's dims lies.
struct At {
  int64_t x = 0, y = 0;
};
At locate(const List& l, int64_t index) {
  At at;
  for (int i = l.n - 1; i >= 0; --i) {
    const int64_t k = index % l[i].size;
    index /= l[i].size;
    at.x += k * l[i].x;
    at.y += k * l[i].y;
  }
  return at;
}

struct Plan {
  const Reducer& f;
  const char* x;
  DType dtype;
  int64_t item, width;  // bytes of an element as stored and as folded
  List kept, reduced;   // outermost first, largest stride of x outermost
  char* y;
  DType y_dtype;
  const char* param;
};

List ordered(const Tensor& x, DimSet dims, bool take, const Dims& y_strides) {
  std::array<Dim, kMaxRank> found;
  int n = 0;
  for (int i = 0; i < x.rank(); ++i)
    if ((dims >> i & 1) == (take ? 1u : 0u))
      found[static_cast<size_t>(n++)] = {x.shape()[i], x.strides()[i], y_strides[i]};
  sort_few(found.begin(), found.begin() + n, [](const Dim& a, const Dim& b) { return a.x > b.x; });
  List l;
  for (int i = 0; i < n; ++i) l.merge(found[static_cast<size_t>(i)]);
  return l;
}

Plan make_plan(const Tensor& x, DimSet dims, const Reducer& f, const Tensor& y,
               const Tensor* param) {
  Dims y_strides = Dims::filled(x.rank(), 0);
  int64_t step = 1;
  for (int i = x.rank() - 1; i >= 0; --i) {
    if (dims >> i & 1) continue;
    y_strides[i] = step;
    step *= x.shape()[i];
  }
  Plan p{f,
         static_cast<const char*>(x.data()),
         x.dtype(),
         static_cast<int64_t>(size_of(x.dtype())),
         static_cast<int64_t>(size_of(f.in)),
         ordered(x, dims, false, y_strides),
         ordered(x, dims, true, y_strides),
         static_cast<char*>(y.data()),
         y.dtype(),
         param ? static_cast<const char*>(param->data()) : nullptr};
  return p;
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct alignas(64) Room {
  char bytes[kBlock * 8];
};

// n elements at `offset`, `stride` apart, in the compute type.
const char* load(const Plan& p, int64_t offset, int64_t stride, int64_t n, char* room) {
  const char* at = p.x + offset * p.item;
  if (p.dtype == p.f.in && stride == 1) return at;
  gather(p.dtype, at, stride, n, p.f.in, room);
  return room;
}

// Totals of n results, `stride` apart in y, become results.
void finish(const Plan& p, char* totals, int64_t at, int64_t stride, int64_t n) {
  [[gnu::uninitialized]] Room params;
  if (p.param) gather(p.f.in, p.param + at * p.width, stride, n, p.f.in, params.bytes);
  p.f.done(p.f.functor, totals, params.bytes, n);
  scatter(p.f.out, totals, n, p.y_dtype, p.y + at * static_cast<int64_t>(size_of(p.y_dtype)),
          stride);
}

// ---- by rows: the innermost dim is reduced, a result at a time --------------------------------

// Folds the elements [begin, end) of one result, whose first lies at `offset`.
void fold_row(const Plan& p, int64_t offset, int64_t begin, int64_t end, const char* param,
              char* total, Room& room) {
  const Dim none{1, 1, 0};
  const Dim& inner = p.reduced.n > 0 ? p.reduced[p.reduced.n - 1] : none;
  const bool direct = p.dtype == p.f.in && inner.x == 1;
  for (int64_t i = begin; i < end;) {
    const int64_t k = i % inner.size;
    const int64_t run = std::min(inner.size - k, end - i);
    const int64_t at = offset + locate(p.reduced, i).x;
    const int64_t step = direct ? run : kBlock;
    for (int64_t j = 0; j < run; j += step) {
      const int64_t n = std::min(step, run - j);
      p.f.row(p.f.functor, load(p, at + j * inner.x, inner.x, n, room.bytes), n, param, total);
    }
    i += run;
  }
}

void by_rows(const Plan& p) {
  const int64_t results = p.kept.count(), length = p.reduced.count();
  const int64_t chunks = std::max<int64_t>(1, ceil_div(length, kChunk));
  const int64_t grain =
      std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, std::min(length, kChunk)));
  Scratch<char> totals(chunks > 1 ? results * chunks * kTotal : 0);
  parallel_for(results * chunks, grain, [&](int64_t first, int64_t last) {
    [[gnu::uninitialized]] Room room;
    alignas(kTotal) char own[kTotal];
    for (int64_t t = first; t < last; ++t) {
      const int64_t chunk = t % chunks;
      const At at = locate(p.kept, t / chunks);
      char* total = chunks > 1 ? totals.data() + t * kTotal : own;
      p.f.clear_totals(total, 1);
      const char* param = p.param ? p.param + at.y * p.width : nullptr;
      fold_row(p, at.x, chunk * kChunk, std::min(length, (chunk + 1) * kChunk), param, total, room);
      if (chunks == 1) finish(p, total, at.y, 1, 1);
    }
  });
  if (chunks == 1) return;
  for (int64_t r = 0; r < results; ++r) {
    char* total = totals.data() + r * chunks * kTotal;
    for (int64_t c = 1; c < chunks; ++c) p.f.join(total, total + c * kTotal, 1);
    finish(p, total, locate(p.kept, r).y, 1, 1);
  }
}

// ---- by columns: the innermost dim is kept, a tile of results side by side --------------------

// How the work is cut. Rows that lie end to end are folded several at once, as one wide row.
struct Tiling {
  Dim column;                      // the kept dim that tiles run along
  int64_t outer;                   // results / column.size
  int64_t tile, tiles;             // columns in a tile, tiles in a row of results
  int64_t wide;                    // rows folded as one
  int64_t rows_per_chunk, chunks;  // of the reduced elements
};

Tiling cut(const Plan& p, List& outer) {
  Tiling t;
  outer = p.kept;
  t.column = outer.n > 0 ? outer.back() : Dim{1, 1, 1};
  if (outer.n > 0) --outer.n;
  t.outer = outer.count();
  t.tile = std::min(t.column.size, kBlock);
  t.tiles = ceil_div(t.column.size, t.tile);
  const int64_t rows = p.reduced.count();
  const bool dense =
      p.reduced.n > 0 && t.column.x == 1 && p.reduced[p.reduced.n - 1].x == t.column.size;
  t.wide =
      dense && t.column.size <= kBlock / 8 ? std::max<int64_t>(1, kBlock / 2 / t.column.size) : 1;
  t.rows_per_chunk = std::max<int64_t>(1, rows);
  if (t.outer * t.tiles < kEnoughTiles)
    t.rows_per_chunk = ceil_div(std::max<int64_t>(32, kChunk / 4 / t.tile), t.wide) * t.wide;
  t.chunks = std::max<int64_t>(1, ceil_div(rows, t.rows_per_chunk));
  return t;
}

class ColumnTask {
 public:
  ColumnTask(const Plan& p, const Tiling& t) : p_(p), t_(t) {}

  // Rows [begin, end) of the columns [c, c + n) of the results whose first element is `offset`.
  void fold(int64_t offset, int64_t n, int64_t begin, int64_t end, const char* param,
            int64_t stride, char* totals) {
    n_ = n;
    totals_ = totals;
    if (p_.param) repeat_params(param, stride);
    p_.f.clear_parts(parts_.bytes, n * t_.wide);
    const int last = p_.reduced.n - 1;
    const Dim inner = last >= 0 ? p_.reduced[last] : Dim{1, 0, 0};
    Poll poll;
    for (int64_t i = begin; i < end; poll(n)) {
      const int64_t run = std::min(inner.size - i % inner.size, end - i);
      fold_run(offset + locate(p_.reduced, i).x, run, inner.x);
      i += run;
    }
    flush();
  }

 private:
  // `rows` rows, `stride` apart.
  void fold_run(int64_t at, int64_t rows, int64_t stride) {
    int64_t r = 0;
    if (t_.wide > 1) {
      for (; r + t_.wide <= rows;) {
        const int64_t many = take((rows - r) / t_.wide);
        add(at + r * stride, many, stride * t_.wide, n_ * t_.wide);
        r += many * t_.wide;
      }
      if (r < rows) {
        take(1);
        add(at + r * stride, 1, 0, n_ * (rows - r));
      }
      return;
    }
    while (r < rows) {
      const int64_t many = take(rows - r);
      add(at + r * stride, many, stride, n_);
      r += many;
    }
  }

  // As many rows as a part still takes.
  int64_t take(int64_t rows) {
    if (taken_ == kFlushRows) {
      poll_(kFlushRows * n_ * t_.wide);
      flush();
    }
    rows = std::min(rows, kFlushRows - taken_);
    taken_ += rows;
    return rows;
  }

  void add(int64_t at, int64_t rows, int64_t stride, int64_t n) {
    if (p_.dtype == p_.f.in && t_.column.x == 1) {
      p_.f.columns(p_.f.functor, p_.x + at * p_.item, rows, stride, n, params_.bytes, parts_.bytes);
      return;
    }
    for (int64_t r = 0; r < rows; ++r) {
      const char* x = load(p_, at + r * stride, t_.column.x, n, row_.bytes);
      p_.f.columns(p_.f.functor, x, 1, 0, n, params_.bytes, parts_.bytes);
    }
  }

  void flush() {
    if (taken_ == 0) return;
    p_.f.flush(parts_.bytes, n_ * t_.wide, n_, totals_);
    p_.f.clear_parts(parts_.bytes, n_ * t_.wide);
    taken_ = 0;
  }

  void repeat_params(const char* param, int64_t stride) {
    gather(p_.f.in, param, stride, n_, p_.f.in, params_.bytes);
    for (int64_t k = 1; k < t_.wide; ++k)
      std::memcpy(params_.bytes + k * n_ * p_.width, params_.bytes,
                  static_cast<size_t>(n_ * p_.width));
  }

  const Plan& p_;
  const Tiling& t_;
  int64_t n_ = 0, taken_ = 0;
  Poll poll_;
  char* totals_ = nullptr;
  Room parts_, row_, params_;
};

void by_columns(const Plan& p) {
  List outer;
  const Tiling t = cut(p, outer);
  const int64_t rows = p.reduced.count(), tiles = t.outer * t.tiles;
  const int64_t per_task = t.tile * std::min(rows, t.rows_per_chunk);
  const int64_t grain = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, per_task));
  const int64_t tile_bytes = t.tile * kTotal;
  Scratch<char> totals(t.chunks > 1 ? tiles * t.chunks * tile_bytes : 0);
  const auto columns_of = [&](int64_t tile, At& at) {
    const int64_t c = tile % t.tiles * t.tile;
    at = locate(outer, tile / t.tiles);
    at.x += c * t.column.x;
    at.y += c * t.column.y;
    return std::min(t.tile, t.column.size - c);
  };
  parallel_for(tiles * t.chunks, grain, [&](int64_t first, int64_t last) {
    [[gnu::uninitialized]] ColumnTask task(p, t);
    [[gnu::uninitialized]] Room own;
    for (int64_t i = first; i < last; ++i) {
      const int64_t chunk = i % t.chunks;
      At at;
      const int64_t n = columns_of(i / t.chunks, at);
      char* to = t.chunks > 1 ? totals.data() + i * tile_bytes : own.bytes;
      p.f.clear_totals(to, n);
      const int64_t begin = chunk * t.rows_per_chunk;
      task.fold(at.x, n, begin, std::min(rows, begin + t.rows_per_chunk),
                p.param ? p.param + at.y * p.width : nullptr, t.column.y, to);
      if (t.chunks == 1) finish(p, to, at.y, t.column.y, n);
    }
  });
  if (t.chunks == 1) return;
  parallel_for(tiles, std::max<int64_t>(1, kTaskElements / (t.chunks * t.tile)),
               [&](int64_t first, int64_t last) {
                 for (int64_t tile = first; tile < last; ++tile) {
                   At at;
                   const int64_t n = columns_of(tile, at);
                   char* total = totals.data() + tile * t.chunks * tile_bytes;
                   for (int64_t c = 1; c < t.chunks; ++c)
                     p.f.join(total, total + c * tile_bytes, n);
                   finish(p, total, at.y, t.column.y, n);
                 }
               });
}

}  // namespace

void reduce(const Tensor& x, DimSet dims, const Reducer& reducer, const Tensor& y,
            const Tensor* param) {
  if (y.numel() == 0) return;
  const Plan p = make_plan(x, dims, reducer, y, param);
  const int r = p.reduced.n, k = p.kept.n;
  const bool inside = r > 0 && (k == 0 || p.reduced[r - 1].x < p.kept[k - 1].x);
  const bool rows = k == 0 || (inside && p.reduced[r - 1].size >= kShortRow);
  if (rows)
    by_rows(p);
  else
    by_columns(p);
}

}  // namespace rille::cpu
