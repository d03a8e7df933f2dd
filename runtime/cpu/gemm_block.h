// Blocked products. C is cut into superblocks, A's rows and B's columns of each are packed once
// (for up to kDepth steps of k), then tiles of the superblock are computed by whichever thread. A
// tile adds its k blocks in order, so its bits depend on the sizes only. Bound: arithmetic.
#pragma once
#include <algorithm>

#include "core/threads.h"
#include "cpu/gemm_kernels.h"
#include "cpu/gemm_pack.h"
#include "cpu/gemm_round.h"
#include "cpu/gemm_tile.h"
#include "cpu/workspace.h"

namespace rille::cpu::block {

constexpr int64_t kStep = 256;    // cells of one pass: a panel of B (kStep x tile columns) is in L1
constexpr int64_t kDepth = 1024;  // cells of one packing
constexpr int64_t kSide = 2048;   // rows and columns of a superblock: 8 MB of f32 each
constexpr int64_t kTileRows = 120, kTileCols = 256;  // a task; its panels of A stay in L2
constexpr int64_t kInPlaceCols = 512;                // of C, up to which A's rows are not packed
constexpr int64_t kTaskWork = 1 << 20;  // multiply-adds worth a task of their own, about 8 us

inline int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// Even pieces of at most `limit`, each a multiple of `unit`.
inline int64_t even_piece(int64_t n, int64_t limit, int64_t unit) {
  const int64_t pieces = (n + limit - 1) / limit;
  return round_up((n + pieces - 1) / pieces, unit);
}

/// The superblock at hand, its packed panels and its sums. Sums are C itself where C's type is the
/// type of the sums, else workspace that is rounded into C. k0 and depth count cells.
template <class S, class Cell>
struct Block {
  using T = SumOf<S>;
  static constexpr bool in_place = std::is_same_v<S, T>;
  const Product<S>& p;
  int64_t row, rows, col, cols, k0, depth;  // what of the product
  int64_t padded_cols;                      // cols, up to whole vectors
  Cell *a, *b;
  T* sums;
  int64_t ld_sums;
  bool first, last;  // of the k superblocks

  /// What `steps` cells from cell k on hold of the product's depth, and where that begins.
  int64_t number(int64_t k) const { return (k0 + k) * CellOf<Cell>::numbers; }
  int64_t numbers(int64_t k, int64_t steps) const {
    return std::min(steps * CellOf<Cell>::numbers, p.g.k - number(k));
  }

  /// A's rows are read where they lie: they already are what a panel would hold. With many columns
  /// packing is little beside the sums, and panels are kinder to the near cache.
  bool a_in_place() const {
    return std::is_same_v<S, Cell> && !p.turned_a() && p.g.n <= kInPlaceCols;
  }
};

template <class S, class Cell>
struct PackA {
  const Block<S, Cell>& at;
  int64_t begin, end;  // panels
  template <class I>
  [[gnu::always_inline]] void run() const {
    using T = SumOf<S>;
    constexpr int R = TileShape<I, T>::rows;
    const Product<S>& p = at.p;
    for (int64_t i = begin * R; i < std::min(end * R, at.rows);) {
      const int height = tile_height<R>(at.rows - i);
      for (int64_t k = 0; k < at.depth; k += kStep) {
        const S* src = p.a + (at.row + i) * p.a_row() + at.number(k) * p.a_step();
        const int64_t steps = std::min(kStep, at.depth - k);
        pack_panel(at.a + k * at.rows + i * steps, PanelSource<S>{src, p.a_row(), p.a_step()},
                   height, height, at.numbers(k, steps));
      }
      i += height;
    }
  }
};

template <class S, class Cell>
struct PackB {
  const Block<S, Cell>& at;
  int64_t begin, end;  // panels
  template <class I>
  [[gnu::always_inline]] void run() const {
    using T = SumOf<S>;
    constexpr int cols = TileShape<I, T>::cols, lanes = TileShape<I, T>::lanes;
    const Product<S>& p = at.p;
    for (int64_t j = begin * cols; j < std::min(end * cols, at.cols); j += cols) {
      const int width = static_cast<int>(std::min<int64_t>(cols, at.cols - j));
      const int padded = width <= lanes ? lanes : cols;
      for (int64_t k = 0; k < at.depth; k += kStep) {
        const S* src = p.b + (at.col + j) * p.b_col() + at.number(k) * p.b_step();
        const int64_t steps = std::min(kStep, at.depth - k);
        pack_panel(at.b + k * at.padded_cols + j * steps,
                   PanelSource<S>{src, p.b_col(), p.b_step()}, padded, width, at.numbers(k, steps));
      }
    }
  }
};

/// One pass over a tile of C: kStep steps of packed panels. Columns of B are packed whole tiles
/// wide, the last ones maybe one vector.
template <class Cell>
struct Pass {
  using T = SumOfCells<Cell>;
  TileInput<Cell> in;  // b: the first panel
  TileOutput<T> out;
  int64_t rows, cols;
  bool packed;  // A too

  template <class I>
  [[gnu::always_inline]] void run() const {
    using Shape = TileShape<I, T>;
    for (int64_t j = 0; j < cols; j += Shape::cols) {
      TileInput<Cell> from = in;
      TileOutput<T> to = out;
      from.b += j * in.k;
      to.c += j;
      if (to.bias) to.bias += j;
      const int width = static_cast<int>(std::min<int64_t>(Shape::cols, cols - j));
      from.b_step = width > Shape::lanes ? Shape::cols : Shape::lanes;
      if (packed)
        column<I, true>(from, to, width);
      else
        column<I, false>(from, to, width);
    }
  }

 private:
  template <class I, bool Packed>
  [[gnu::always_inline]] void column(const TileInput<Cell>& from, const TileOutput<T>& to,
                                     int width) const {
    using Shape = TileShape<I, T>;
    if (width > Shape::lanes)
      tile_column<Cell, I::bytes, Shape::rows, Shape::vectors, Packed>(from, to, rows, 0, width);
    else
      tile_column<Cell, I::bytes, Shape::rows, 1, Packed>(from, to, rows, 0, width);
  }
};

/// Instantiated once a type of cells.
template <class Cell>
void run_pass(const Pass<Cell>& pass) {
  if constexpr (kPairs<Cell>)
    run_avx512(pass);
  else
    run_best(pass);
}

/// A tile of the superblock, k block after k block.
template <class S, class Cell>
void run_tile(const Block<S, Cell>& at, int64_t i, int64_t rows, int64_t j, int64_t cols) {
  using T = SumOf<S>;
  const Product<S>& p = at.p;
  for (int64_t k = 0; k < at.depth; k += kStep) {
    const bool first = at.first && k == 0;
    Pass<Cell> pass{};
    pass.rows = rows, pass.cols = cols;
    pass.in.k = std::min(kStep, at.depth - k);
    pass.packed = !at.a_in_place();
    if constexpr (std::is_same_v<S, Cell>) pass.in.a = p.a + (at.row + i) * p.g.lda + at.number(k);
    if (pass.packed) pass.in.a = at.a + k * at.rows + i * pass.in.k;
    pass.in.a_row = p.g.lda, pass.in.a_step = 1;
    pass.in.b = at.b + k * at.padded_cols + j * pass.in.k;
    pass.out.c = at.sums + i * at.ld_sums + j;
    pass.out.ldc = at.ld_sums;
    pass.out.alpha = Block<S, Cell>::in_place ? scale_as<T>(p.g.alpha) : T(1);
    pass.out.beta = !first ? T(1) : Block<S, Cell>::in_place ? scale_as<T>(p.g.beta) : T(0);
    if constexpr (Block<S, Cell>::in_place)
      pass.out.bias = first && p.bias ? p.bias + at.col + j : nullptr;
    run_pass(pass);
  }
  if constexpr (!Block<S, Cell>::in_place)
    if (at.last)
      round_sums(p, at.row + i, rows, at.col + j, cols, at.sums + i * at.ld_sums + j, at.ld_sums);
}

/// Packs the superblock and computes its tiles.
template <class S, class Cell>
void run_block(const Block<S, Cell>& at, int64_t unit_rows, int64_t unit_cols) {
  const int64_t panels_a = (at.rows + unit_rows - 1) / unit_rows;
  const int64_t panels_b = (at.cols + unit_cols - 1) / unit_cols;
  int64_t tile_rows = even_piece(at.rows, kTileRows, unit_rows);
  int64_t tile_cols = even_piece(at.cols, kTileCols, unit_cols);
  const auto tiles = [&] {
    return ((at.rows + tile_rows - 1) / tile_rows) * ((at.cols + tile_cols - 1) / tile_cols);
  };
  while (tiles() < 32 && tile_rows * tile_cols * at.depth >= 2 * kTaskWork) {
    if (tile_cols > tile_rows)
      tile_cols = round_up(tile_cols / 2, unit_cols);
    else
      tile_rows = round_up(tile_rows / 2, unit_rows);
  }
  const int64_t work = at.rows * at.cols * at.depth, count = tiles();
  const bool serial = work < 2 * kTaskWork;
  // Equal shares of both: a panel of the one is not as much work as one of the other.
  const int64_t shares = serial ? 1 : 16;
  parallel_for(shares, 1, [&](int64_t begin, int64_t end) {
    if (!at.a_in_place())
      run_best(PackA<S, Cell>{at, panels_a * begin / shares, panels_a * end / shares});
    run_best(PackB<S, Cell>{at, panels_b * begin / shares, panels_b * end / shares});
  });
  parallel_for(count, serial ? count : 1, [&](int64_t begin, int64_t end) {
    // Columns of tiles, one after another: a share of them is even where a few rows, cut into tiles
    // of whole registers, are not.
    const int64_t down = (at.rows + tile_rows - 1) / tile_rows;
    for (int64_t t = begin; t < end; ++t) {
      const int64_t i = t % down * tile_rows, j = t / down * tile_cols;
      run_tile(at, i, std::min(tile_rows, at.rows - i), j, std::min(tile_cols, at.cols - j));
    }
  });
}

}  // namespace rille::cpu::block

namespace rille::cpu {

/// With packed panels of the given cells.
template <class S, class Cell>
void gemm_of_cells(const Product<S>& p) {
  using namespace block;
  using T = SumOf<S>;
  int64_t unit_rows = 1, unit_cols = 1, lanes = 1;
  with_isa([&](auto isa) {
    using Shape = TileShape<decltype(isa), T>;
    unit_rows = Shape::rows, unit_cols = Shape::cols, lanes = Shape::lanes;
  });
  const Gemm& g = p.g;
  const int64_t rows = even_piece(g.m, kSide, unit_rows), cols = even_piece(g.n, kSide, unit_cols);
  const int64_t cells = (g.k + CellOf<Cell>::numbers - 1) / CellOf<Cell>::numbers;
  const int64_t depth = even_piece(cells, kDepth, kStep);
  const int64_t depth_now = std::min(depth, cells);
  Cell* a = workspace<Cell>(Purpose::gemm_a, std::min(rows, g.m) * depth_now);
  Cell* b = workspace<Cell>(Purpose::gemm_b, round_up(std::min(cols, g.n), lanes) * depth_now);
  T* sums = Block<S, Cell>::in_place ? nullptr : workspace<T>(Purpose::gemm_c, rows * cols);
  for (int64_t j = 0; j < g.n; j += cols)
    for (int64_t i = 0; i < g.m; i += rows)
      for (int64_t k = 0; k < cells; k += depth) {
        Block<S, Cell> at{p,
                          i,
                          std::min(rows, g.m - i),
                          j,
                          std::min(cols, g.n - j),
                          k,
                          std::min(depth, cells - k),
                          0,
                          a,
                          b,
                          sums,
                          cols,
                          k == 0,
                          k + depth >= cells};
        at.padded_cols = round_up(at.cols, lanes);
        if constexpr (Block<S, Cell>::in_place) at.sums = p.c + i * g.ldc + j, at.ld_sums = g.ldc;
        run_block(at, unit_rows, unit_cols);
      }
}

template <class S>
void gemm_blocked(const Product<S>& p) {
  if constexpr (std::is_same_v<S, bf16>)
    if (has_bf16_pairs()) return gemm_of_cells<S, Pair>(p);
  gemm_of_cells<S, SumOf<S>>(p);
}

}  // namespace rille::cpu
