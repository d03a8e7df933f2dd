// c[m, n] (+)= sum_p a[m, p] b[p, n]. A tile of up to kRowTile rows and 4 vectors of c stays in
// registers while p runs; each step loads the vectors of b once and broadcasts one cell of a per
// row. Pairs go through the tile unit where there is one, whole tiles of them.
#include "cpu/block_product.h"

#include <algorithm>

#include "cpu/isa.h"
#include "cpu/tile_product.h"
#include "cpu/tiles.h"

namespace rille::cpu {
namespace {

constexpr int64_t kRowTile = 6;

// Vectors of sums. Pairs travel in the same type, whose bits nobody looks at.
template <class Cell, int kBytes>
struct Vector {
  using T = SumOfCells<Cell>;
  typedef T type __attribute__((vector_size(kBytes)));
  typedef T anywhere __attribute__((vector_size(kBytes), aligned(alignof(Cell)), may_alias));
  static constexpr int64_t lanes = kBytes / static_cast<int64_t>(sizeof(T));
};

template <class Cell>
struct Tile {
  int64_t depth;  // in cells
  const Cell* a;
  int64_t a_step;  // between rows when a is read along them, else between columns
  const Cell* b;
  int64_t b_row;
  SumOfCells<Cell>* c;
  int64_t c_row;
  bool add;
};

template <class Cell, int kBytes, bool kAlong, int kRows, int kVecs>
[[gnu::always_inline]] inline void tile(const Tile<Cell>& t) {
  using V = typename Vector<Cell, kBytes>::type;
  using Anywhere = typename Vector<Cell, kBytes>::anywhere;
  constexpr int64_t lanes = Vector<Cell, kBytes>::lanes;
  V sum[kRows][kVecs];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v)
      sum[r][v] = t.add ? *reinterpret_cast<const Anywhere*>(t.c + r * t.c_row + v * lanes) : V{};
  const Cell *a = t.a, *b = t.b;
  for (int64_t p = 0; p < t.depth; ++p) {
    V row[kVecs];
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v) row[v] = *reinterpret_cast<const Anywhere*>(b + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      Repeated<Cell, V> x;
      repeat<Cell, V>(x, a + (kAlong ? r * t.a_step : r));
#pragma GCC unroll 4
      for (int v = 0; v < kVecs; ++v) add_product<Cell>(sum[r][v], x, row[v]);
    }
    a += kAlong ? 1 : t.a_step;
    b += t.b_row;
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVecs; ++v)
      *reinterpret_cast<Anywhere*>(t.c + r * t.c_row + v * lanes) = sum[r][v];
}

// One column of tiles: kVecs vectors wide, all rows.
template <class Cell, int kBytes, bool kAlong, int kVecs>
[[gnu::always_inline]] inline void column(const BlockProduct<Cell>& x, int64_t n0) {
  constexpr int64_t per = CellOf<Cell>::numbers;
  for (int64_t r = 0, rows = 0; r < x.m; r += rows) {
    const int64_t left = x.m - r;
    rows = left >= kRowTile ? kRowTile : left >= 4 ? 4 : left >= 2 ? 2 : 1;
    const int64_t last = r + rows - 1 + x.diagonal;  // of the columns that these rows may meet
    if (x.trim == Trim::columns && n0 > last) continue;
    const int64_t first =
        x.trim == Trim::depth_begin ? std::clamp<int64_t>(r - x.diagonal, 0, x.k) : 0;
    const int64_t after = x.trim == Trim::depth_end ? std::clamp<int64_t>(last + 1, 0, x.k) : x.k;
    const int64_t end = (after + per - 1) / per;
    const int64_t begin = first < after ? first / per : end;  // nothing, not half a pair
    const Tile<Cell> t{end - begin,
                       x.a + r * x.a_row + begin * x.a_col,
                       kAlong ? x.a_row : x.a_col,
                       x.b + begin * x.b_row + n0,
                       x.b_row,
                       x.c + r * x.c_row + n0,
                       x.c_row,
                       x.add};
    if (rows == kRowTile)
      tile<Cell, kBytes, kAlong, kRowTile, kVecs>(t);
    else if (rows == 4)
      tile<Cell, kBytes, kAlong, 4, kVecs>(t);
    else if (rows == 2)
      tile<Cell, kBytes, kAlong, 2, kVecs>(t);
    else
      tile<Cell, kBytes, kAlong, 1, kVecs>(t);
  }
}

template <class Cell, int kBytes, int kVecs, bool kAlong>
[[gnu::always_inline]] inline void columns(const BlockProduct<Cell>& x) {
  constexpr int64_t lanes = Vector<Cell, kBytes>::lanes;
  constexpr int64_t whole = 64 / static_cast<int64_t>(sizeof(Cell));
  const int64_t n = (x.n + whole - 1) / whole * whole;
  int64_t n0 = 0;
  for (; n0 + kVecs * lanes <= n; n0 += kVecs * lanes) column<Cell, kBytes, kAlong, kVecs>(x, n0);
  if (kVecs > 2 && n0 + 2 * lanes <= n) {
    column<Cell, kBytes, kAlong, 2>(x, n0);
    n0 += 2 * lanes;
  }
  if (kVecs > 1 && n0 < n) column<Cell, kBytes, kAlong, 1>(x, n0);
}

// As many accumulators as the registers of the instruction set leave room for.
template <class Cell>
struct Job {
  const BlockProduct<Cell>& x;

  template <class Isa>
  [[gnu::always_inline]] inline void run() const {
    constexpr int vecs = Isa::registers == 32 ? 4 : 2;
    if (x.a_col == 1)
      columns<Cell, Isa::bytes, vecs, true>(x);
    else
      columns<Cell, Isa::bytes, vecs, false>(x);
  }
};

// Rows [row, row + m) and depth [from, from + k) of a product, whose diagonal is then another.
struct Part {
  int64_t row, m, from, k;
};
BlockProduct<Pair> part_of(const BlockProduct<Pair>& x, const Part& p) {
  BlockProduct<Pair> y = x;
  const int64_t from = p.from / CellOf<Pair>::numbers;
  y.m = p.m;
  y.k = p.k;
  y.a += p.row * x.a_row + from * x.a_col;
  y.b += from * x.b_row;
  y.c += p.row * x.c_row;
  y.add = x.add || p.from > 0;
  if (x.trim == Trim::columns) y.diagonal = x.diagonal + p.row;
  if (x.trim == Trim::depth_end) y.diagonal = x.diagonal + p.row - p.from;
  if (x.trim == Trim::depth_begin) y.diagonal = x.diagonal - p.row + p.from;
  return y;
}

void multiply_pairs(const BlockProduct<Pair>& product) { run_avx512(Job<Pair>{product}); }

}  // namespace

void multiply(const BlockProduct<float>& product) { run_best(Job<float>{product}); }
void multiply(const BlockProduct<double>& product) { run_best(Job<double>{product}); }

void multiply(const BlockProduct<Pair>& x) {
  const int64_t rows = x.m / kTileRows * kTileRows, depth = x.k / kTileDepth * kTileDepth;
  if (!has_tiles() || x.a_col != 1 || rows == 0 || depth == 0) return multiply_pairs(x);
  multiply_whole_tiles(part_of(x, {0, rows, 0, depth}));
  if (depth < x.k) multiply_pairs(part_of(x, {0, rows, depth, x.k - depth}));
  if (rows < x.m) multiply_pairs(part_of(x, {rows, x.m - rows, 0, x.k}));
}

bool has_pair_products() { return has_bf16_pairs(); }
int64_t trim_reach() { return has_tiles() ? 2 * kTileRows + kTileDepth : kRowTile; }

}  // namespace rille::cpu
