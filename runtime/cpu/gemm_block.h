// Blocked products. C is cut into superblocks, A's rows and B's columns of each are packed once
// (for up to kDepth steps of k), then tiles of the superblock are computed by whichever thread. A
// tile adds its k blocks in order, so its bits depend on the sizes only. Bound: arithmetic.
#pragma once
#include <algorithm>

#include "core/threads.h"
#include "cpu/gemm_kernels.h"
#include "cpu/gemm_pack.h"
#include "cpu/gemm_tile.h"
#include "cpu/workspace.h"

namespace rille::cpu::block {

constexpr int64_t kStep = 256;    // k of one pass: a panel of B (kStep x tile columns) stays in L1
constexpr int64_t kDepth = 1024;  // k of one packing
constexpr int64_t kSide = 2048;   // rows and columns of a superblock: 8 MB of f32 each
constexpr int64_t kTileRows = 120, kTileCols = 256;  // a task; its panels of A stay in L2
constexpr int64_t kTaskWork = 1 << 20;  // multiply-adds worth a task of their own, about 8 us

inline int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// Even pieces of at most `limit`, each a multiple of `unit`.
inline int64_t even_piece(int64_t n, int64_t limit, int64_t unit) {
  const int64_t pieces = (n + limit - 1) / limit;
  return round_up((n + pieces - 1) / pieces, unit);
}

/// The superblock at hand, its packed panels and its sums. Sums are C itself where C's type is the
/// type of the sums, else scratch that `finish` rounds into C.
template <class S>
struct Block {
  using T = SumOf<S>;
  static constexpr bool in_place = sizeof(S) == sizeof(T);
  const Product<S>& p;
  int64_t row, rows, col, cols, k0, depth;  // what of the product
  int64_t padded_cols;                      // cols, up to whole vectors
  T *a, *b, *sums;
  int64_t ld_sums;
  bool first, last;  // of the k superblocks
};

template <class S>
struct PackA {
  const Block<S>& at;
  int64_t begin, end;  // panels
  template <class I>
  [[gnu::always_inline]] void run() const {
    using T = SumOf<S>;
    constexpr int R = TileShape<I, T>::rows;
    const Product<S>& p = at.p;
    for (int64_t i = begin * R; i < std::min(end * R, at.rows);) {
      const int height = tile_height<R>(at.rows - i);
      for (int64_t k = 0; k < at.depth; k += kStep) {
        const S* src = p.a + (at.row + i) * p.a_row() + (at.k0 + k) * p.a_step();
        const int64_t steps = std::min(kStep, at.depth - k);
        pack_panel(at.a + k * at.rows + i * steps, PanelSource<S>{src, p.a_row(), p.a_step()},
                   height, height, steps);
      }
      i += height;
    }
  }
};

template <class S>
struct PackB {
  const Block<S>& at;
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
        const S* src = p.b + (at.col + j) * p.b_col() + (at.k0 + k) * p.b_step();
        const int64_t steps = std::min(kStep, at.depth - k);
        pack_panel(at.b + k * at.padded_cols + j * steps,
                   PanelSource<S>{src, p.b_col(), p.b_step()}, padded, width, steps);
      }
    }
  }
};

/// Tiles [begin, end) of the superblock, row of tiles by row of tiles.
template <class S>
struct Tiles {
  using T = SumOf<S>;
  const Block<S>& at;
  int64_t tile_rows, tile_cols, begin, end;

  template <class I>
  [[gnu::always_inline]] void run() const {
    const int64_t across = (at.cols + tile_cols - 1) / tile_cols;
    for (int64_t t = begin; t < end; ++t) {
      const int64_t i = t / across * tile_rows, j = t % across * tile_cols;
      const int64_t rows = std::min(tile_rows, at.rows - i);
      const int64_t cols = std::min(tile_cols, at.cols - j);
      for (int64_t k = 0; k < at.depth; k += kStep) pass<I>(i, rows, j, cols, k);
      if (at.last && !Block<S>::in_place) finish(i, rows, j, cols);
    }
  }

 private:
  template <class I>
  [[gnu::always_inline]] void pass(int64_t i, int64_t rows, int64_t j0, int64_t cols,
                                   int64_t k) const {
    using Shape = TileShape<I, T>;
    const Gemm& g = at.p.g;
    const bool first = at.first && k == 0;
    constexpr bool in_place = Block<S>::in_place;
    TileInput<T, T> in{};
    in.k = std::min(kStep, at.depth - k);
    in.a = at.a + k * at.rows + i * in.k;
    TileOutput<T, T> out{};
    out.ldc = at.ld_sums;
    out.alpha = in_place ? scale_as<T, S>(g.alpha) : T(1);
    out.beta = !first ? T(1) : in_place ? scale_as<T, S>(g.beta) : T(0);
    for (int64_t j = j0; j < j0 + cols; j += Shape::cols) {
      const int width = static_cast<int>(std::min<int64_t>(Shape::cols, at.cols - j));
      in.b = at.b + k * at.padded_cols + j * in.k;
      out.c = at.sums + i * at.ld_sums + j;
      if constexpr (in_place)
        out.bias =
            first && at.p.bias ? reinterpret_cast<const T*>(at.p.bias) + at.col + j : nullptr;
      if (width > Shape::lanes) {
        in.b_step = Shape::cols;
        tile_column<T, I::bytes, Shape::rows, Shape::vectors, true>(in, out, rows, 0, width);
      } else {
        in.b_step = Shape::lanes;
        tile_column<T, I::bytes, Shape::rows, 1, true>(in, out, rows, 0, width);
      }
    }
  }

  /// c = alpha * sum + beta * c + bias, rounded once
  [[gnu::always_inline]] void finish(int64_t i0, int64_t rows, int64_t j0, int64_t cols) const {
    const Product<S>& p = at.p;
    const T alpha = scale_as<T, S>(p.g.alpha), beta = scale_as<T, S>(p.g.beta);
    for (int64_t i = i0; i < i0 + rows; ++i) {
      T* sum = at.sums + i * at.ld_sums + j0;
      S* c = p.c + (at.row + i) * p.g.ldc + at.col + j0;
      if (alpha != T(1)) {
#pragma omp simd
        for (int64_t j = 0; j < cols; ++j) sum[j] *= alpha;
      }
      if (beta != T(0)) {
#pragma omp simd
        for (int64_t j = 0; j < cols; ++j) sum[j] += beta * static_cast<T>(c[j]);
      }
      if (const S* bias = p.bias ? p.bias + at.col + j0 : nullptr) {
#pragma omp simd
        for (int64_t j = 0; j < cols; ++j) sum[j] += static_cast<T>(bias[j]);
      }
#pragma omp simd
      for (int64_t j = 0; j < cols; ++j) c[j] = round_to<S>(sum[j]);
    }
  }
};

/// Packs the superblock and computes its tiles.
template <class S>
void run_block(const Block<S>& at, int64_t unit_rows, int64_t unit_cols) {
  const int64_t panels_a = (at.rows + unit_rows - 1) / unit_rows;
  const int64_t panels_b = (at.cols + unit_cols - 1) / unit_cols;
  int64_t tile_rows = kTileRows, tile_cols = kTileCols;
  const auto tiles = [&] {
    return ((at.rows + tile_rows - 1) / tile_rows) * ((at.cols + tile_cols - 1) / tile_cols);
  };
  while (tiles() < 32 && tile_rows * tile_cols * at.depth >= 2 * kTaskWork) {
    if (tile_cols > tile_rows)
      tile_cols /= 2;
    else
      tile_rows = round_up(tile_rows / 2, unit_rows);
  }
  const int64_t work = at.rows * at.cols * at.depth, count = tiles();
  const bool serial = work < 2 * kTaskWork;
  const int64_t panels = panels_a + panels_b;
  parallel_for(panels, serial ? panels : 4, [&](int64_t begin, int64_t end) {
    if (begin < panels_a) run_best(PackA<S>{at, begin, std::min(end, panels_a)});
    if (end > panels_a)
      run_best(PackB<S>{at, std::max<int64_t>(0, begin - panels_a), end - panels_a});
  });
  parallel_for(count, serial ? count : 1, [&](int64_t begin, int64_t end) {
    run_best(Tiles<S>{at, tile_rows, tile_cols, begin, end});
  });
}

}  // namespace rille::cpu::block

namespace rille::cpu {

template <class S>
void gemm_blocked(const Product<S>& p) {
  using namespace block;
  using T = SumOf<S>;
  int64_t unit_rows = 1, unit_cols = 1, lanes = 1;
  with_isa([&](auto isa) {
    using Shape = TileShape<decltype(isa), T>;
    unit_rows = Shape::rows, unit_cols = Shape::cols, lanes = Shape::lanes;
  });
  const Gemm& g = p.g;
  const int64_t rows = even_piece(g.m, kSide, unit_rows), cols = even_piece(g.n, kSide, unit_cols);
  const int64_t depth = even_piece(g.k, kDepth, kStep);
  const int64_t depth_now = std::min(depth, g.k);
  T* a = workspace<T>(Purpose::gemm_a, std::min(rows, g.m) * depth_now);
  T* b = workspace<T>(Purpose::gemm_b, round_up(std::min(cols, g.n), lanes) * depth_now);
  T* sums = Block<S>::in_place ? nullptr : workspace<T>(Purpose::gemm_c, rows * cols);
  for (int64_t j = 0; j < g.n; j += cols)
    for (int64_t i = 0; i < g.m; i += rows)
      for (int64_t k = 0; k < g.k; k += depth) {
        Block<S> at{p,
                    i,
                    std::min(rows, g.m - i),
                    j,
                    std::min(cols, g.n - j),
                    k,
                    std::min(depth, g.k - k),
                    0,
                    a,
                    b,
                    sums,
                    cols,
                    k == 0,
                    k + depth >= g.k};
        at.padded_cols = round_up(at.cols, lanes);
        if constexpr (Block<S>::in_place)
          at.sums = reinterpret_cast<T*>(p.c) + i * g.ldc + j, at.ld_sums = g.ldc;
        run_block(at, unit_rows, unit_cols);
      }
}

}  // namespace rille::cpu
