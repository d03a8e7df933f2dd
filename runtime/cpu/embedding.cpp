// Rows picked by id, and the sum of rows by id. The latter sorts the positions by id first (a
// stable counting sort), so that each output row is summed in the order of positions, by one
// thread.
#include <algorithm>
#include <cstring>

#include "core/budget.h"
#include "core/macros.h"
#include "core/threads.h"
#include "cpu/row_access.h"
#include "cpu/rows.h"

namespace rille::cpu {
namespace {

constexpr int64_t kBlock = 64;  // columns that are summed at once: four vectors of floats

int64_t first_bad(const Lookup& args) {
  int64_t bad = -1;
  polled(args.count, [&](int64_t i, int64_t end) {
    for (; i < end && bad < 0; ++i)
      if (static_cast<uint64_t>(args.ids[i]) >= static_cast<uint64_t>(args.rows)) bad = i;
  });
  return bad;
}

// positions[start[id] .. start[id + 1]) hold id, in ascending order.
struct Sorted {
  CountedVector<int64_t> start;
  Scratch<int64_t> positions;
};

Sorted sort_positions(const Lookup& args, int64_t skip) {
  Sorted s{CountedVector<int64_t>(static_cast<size_t>(args.rows) + 1, 0),
           Scratch<int64_t>(args.count)};
  polled(args.count, [&](int64_t i, int64_t end) {
    for (; i < end; ++i)
      if (args.ids[i] != skip) ++s.start[static_cast<size_t>(args.ids[i]) + 1];
  });
  for (size_t v = 1; v < s.start.size(); ++v) s.start[v] += s.start[v - 1];
  CountedVector<int64_t> next(s.start.begin(), s.start.end() - 1);
  polled(args.count, [&](int64_t i, int64_t end) {
    for (; i < end; ++i)
      if (args.ids[i] != skip) s.positions[next[static_cast<size_t>(args.ids[i])]++] = i;
  });
  return s;
}

template <class A>
RILLE_CLONES void add_to(A* sum, const A* x, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) sum[i] += x[i];
}

struct Sum {
  DType d;
  const Lookup& args;
  int64_t width;
  const void* dy;
  void* dtable;
  bool accumulate;
};

// Sums columns [column, column + n) of one output row.
template <class A>
void sum_row(const Sum& s, const Sorted& sorted, int64_t outer, int64_t id, int64_t column,
             int64_t n) {
  const int64_t from = sorted.start[static_cast<size_t>(id)];
  const int64_t to = sorted.start[static_cast<size_t>(id) + 1];
  if (from == to && s.accumulate) return;
  A sum[kBlock] = {}, scratch[kBlock];
  char* target = element(s.dtable, s.d, (outer * s.args.rows + id) * s.width + column);
  if (s.accumulate) convert(s.d, target, kDType<A>, sum, n);
  Poll poll;
  for (int64_t p = from; p < to; ++p, poll(n)) {
    const int64_t row = outer * s.args.count + sorted.positions[p];
    const char* x = element(s.dy, s.d, row * s.width + column);
    if (s.d != kDType<A>) convert(s.d, x, kDType<A>, scratch, n);
    add_to(sum, s.d == kDType<A> ? reinterpret_cast<const A*>(x) : scratch, n);
  }
  convert(kDType<A>, sum, s.d, target, n);
}

template <class A>
void sum_rows(const Sum& s, const Sorted& sorted) {
  const int64_t blocks = (s.width + kBlock - 1) / kBlock, rows = s.args.rows;
  // Column blocks outside, ids inside: a few frequent ids then burden all threads alike.
  const int64_t work = std::max<int64_t>(1, rows * blocks);
  const int64_t each = (s.args.count * s.width + rows * s.width) / work + 1;
  parallel_for(s.args.outer * work, rows_per_chunk(each), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t outer = i / work, column = i % work / rows * kBlock;
      sum_row<A>(s, sorted, outer, i % rows, column, std::min(kBlock, s.width - column));
    }
  });
}

}  // namespace

int64_t take_rows(const Lookup& args, int64_t row_bytes, const void* table, void* out) {
  const int64_t bad = first_bad(args);
  if (bad >= 0) return bad;
  const size_t bytes = static_cast<size_t>(row_bytes);
  parallel_for(args.outer * args.count, rows_per_chunk(row_bytes / 4 + 1),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   const int64_t row = i / args.count * args.rows + args.ids[i % args.count];
                   std::memcpy(static_cast<char*>(out) + i * row_bytes,
                               static_cast<const char*>(table) + row * row_bytes, bytes);
                 }
               });
  return -1;
}

int64_t add_rows(DType d, const Lookup& args, int64_t width, const void* dy, void* dtable,
                 bool accumulate, int64_t skip) {
  const int64_t bad = first_bad(args);
  if (bad >= 0) return bad;
  if (args.rows == 0 || width == 0) return -1;
  const Sorted sorted = sort_positions(args, skip);
  const Sum sum{d, args, width, dy, dtable, accumulate};
  with_accumulator(d, [&]<class A>() { sum_rows<A>(sum, sorted); });
  return -1;
}

}  // namespace rille::cpu
