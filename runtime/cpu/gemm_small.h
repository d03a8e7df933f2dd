// Small and skinny products of f32, f64 and integers. B is read where it lies when its rows are
// contiguous and packed into panels when it is transposed; A is read in place. Columns that do not
// fill a vector are computed by a tile shifted left to end at the last column (which stores only
// what is new), or by shorter vectors when the matrix is narrower than one: nothing is copied,
// nothing beyond a row is read.
#pragma once
#include "core/threads.h"
#include "cpu/gemm_kernels.h"
#include "cpu/gemm_pack.h"
#include "cpu/gemm_tile.h"
#include "cpu/workspace.h"

namespace rille::cpu::small {

constexpr int64_t kChunkWork = 1 << 19;  // multiply-adds worth handing to another thread, 4 us

template <class T>
struct Direct {
  TileInput<T> in;
  TileOutput<T> out;
  int64_t rows, cols;
  bool packed;  // B lies in panels of k steps each

  template <class I>
  [[gnu::always_inline]] void run() const {
    using Shape = TileShape<I, T>;
    if (!packed && cols < Shape::lanes) return narrow<I::bytes / 2>();
    for (int64_t j = 0; j < cols;) {
      const int64_t left = cols - j;
      const bool two = left > Shape::lanes && (packed || cols >= Shape::cols);
      const int64_t width = two ? Shape::cols : Shape::lanes;
      const int64_t start = packed ? j : std::min(j, cols - width);
      if (two)
        column<I::bytes, Shape::rows, 2>(start, j, width);
      else
        column<I::bytes, Shape::rows, 1>(start, j, width);
      j = start + width;
    }
  }

 private:
  /// Columns [start, start + width), of which those before `from` are done already.
  template <int Bytes, int R, int N>
  [[gnu::always_inline]] void column(int64_t start, int64_t from, int64_t width) const {
    TileInput<T> input = in;
    TileOutput<T> output = out;
    input.b += packed ? start * in.k : start;
    if (packed) input.b_step = width;
    output.c += start;
    if (output.bias) output.bias += start;
    tile_column<T, Bytes, R, N, false>(input, output, rows, static_cast<int>(from - start),
                                       static_cast<int>(std::min(width, cols - start)));
  }

  /// A matrix narrower than a vector, by the longest vectors that fit.
  template <int Bytes>
  [[gnu::always_inline]] void narrow() const {
    constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    if constexpr (lanes > 1) {
      if (cols < lanes) return narrow<Bytes / 2>();
      column<Bytes, 4, 1>(0, 0, lanes);
      if (cols > lanes) column<Bytes, 4, 1>(cols - lanes, lanes, lanes);
    } else {
      column<sizeof(T), 4, 1>(0, 0, 1);
    }
  }
};

/// B into panels of k steps each.
template <class T>
struct PackPanels {
  T* dst;
  PanelSource<T> from;
  int64_t cols, k;
  template <class I>
  [[gnu::always_inline]] void run() const {
    using Shape = TileShape<I, T>;
    for (int64_t j = 0; j < cols; j += Shape::cols) {
      const int width = static_cast<int>(std::min<int64_t>(Shape::cols, cols - j));
      const int padded = width <= Shape::lanes ? Shape::lanes : Shape::cols;
      const PanelSource<T> panel{from.src + j * from.across, from.across, from.along};
      pack_panel(dst + j * k, panel, padded, width, k);
    }
  }
};

/// Whole tiles of columns or rows, whichever there are more of, as chunks for the threads.
template <class T>
void shared_out(const Direct<T>& all) {
  constexpr int64_t unit = 96;  // a multiple of every tile's height and width
  const bool by_cols = all.cols >= all.rows;
  const int64_t side = by_cols ? all.cols : all.rows, other = by_cols ? all.rows : all.cols;
  const int64_t grain = std::max<int64_t>(1, kChunkWork / (other * all.in.k * unit)) * unit;
  if (side <= grain) return run_best(all);
  parallel_for(side, grain, [&](int64_t begin, int64_t end) {
    Direct<T> part = all;
    (by_cols ? part.cols : part.rows) = end - begin;
    part.out.c += by_cols ? begin : begin * all.out.ldc;
    if (by_cols) {
      part.in.b += begin;
      if (part.out.bias) part.out.bias += begin;
    } else {
      part.in.a += begin * all.in.a_row;
    }
    run_best(part);
  });
}

}  // namespace rille::cpu::small

namespace rille::cpu {

template <class T>
void gemm_small(const Product<T>& p) {
  using namespace small;
  const Gemm& g = p.g;
  Direct<T> all{{p.a, p.a_row(), p.a_step(), p.b, g.ldb, g.k},
                {p.c, g.ldc, p.bias, scale_as<T>(g.alpha), scale_as<T>(g.beta)},
                g.m,
                g.n,
                false};
  if (!p.turned_b()) return shared_out(all);
  const int64_t unit =
      with_isa([](auto isa) { return int64_t{TileShape<decltype(isa), T>::cols}; });
  T* b = workspace<T>(Purpose::gemm_b, (g.n + unit) * g.k);
  run_best(PackPanels<T>{b, {p.b, p.b_col(), p.b_step()}, g.n, g.k});
  all.in.b = b;
  all.packed = true;
  run_best(all);
}

}  // namespace rille::cpu
