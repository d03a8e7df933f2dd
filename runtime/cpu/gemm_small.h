// Small and skinny products. B is read where it lies when its rows are contiguous and packed
// into panels when it is transposed; A is read in place. Columns that do not fill a vector are
// computed by a tile shifted left to end at the last column (which stores only what is new), or by
// shorter vectors when the matrix is narrower than one: nothing is copied, nothing beyond a row is
// read.
#pragma once
#include "core/threads.h"
#include "cpu/gemm_kernels.h"
#include "cpu/gemm_pack.h"
#include "cpu/gemm_tile.h"
#include "cpu/workspace.h"

namespace rille::cpu::small {

constexpr int64_t kChunkWork = 1 << 19;  // multiply-adds worth handing to another thread, 4 us

/// SB: what B is read as; A is in the type of the sums.
template <class S, class SB>
struct Direct {
  using T = SumOf<S>;
  TileInput<T, SB> in;
  TileOutput<T, S> out;
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
    TileInput<T, SB> input = in;
    TileOutput<T, S> output = out;
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
    if constexpr (lanes > 1 && sizeof(S) == sizeof(T)) {
      if (cols < lanes) return narrow<Bytes / 2>();
      column<Bytes, 4, 1>(0, 0, lanes);
      if (cols > lanes) column<Bytes, 4, 1>(cols - lanes, lanes, lanes);
    } else {
      column<sizeof(T), 4, 1>(0, 0, 1);
    }
  }
};

/// B into panels of k steps each.
template <class S>
struct PackPanels {
  using T = SumOf<S>;
  T* dst;
  PanelSource<S> from;
  int64_t cols, k;
  template <class I>
  [[gnu::always_inline]] void run() const {
    using Shape = TileShape<I, T>;
    for (int64_t j = 0; j < cols; j += Shape::cols) {
      const int width = static_cast<int>(std::min<int64_t>(Shape::cols, cols - j));
      const int padded = width <= Shape::lanes ? Shape::lanes : Shape::cols;
      const PanelSource<S> panel{from.src + j * from.across, from.across, from.along};
      pack_panel(dst + j * k, panel, padded, width, k);
    }
  }
};

/// Whole tiles of columns or rows, whichever there are more of, as chunks for the threads.
template <class S>
void shared_out(const Direct<S, S>& all) {
  constexpr int64_t unit = 96;  // a multiple of every tile's height and width
  const bool by_cols = all.cols >= all.rows;
  const int64_t side = by_cols ? all.cols : all.rows, other = by_cols ? all.rows : all.cols;
  const int64_t grain = std::max<int64_t>(1, kChunkWork / (other * all.in.k * unit)) * unit;
  if (side <= grain) return run_best(all);
  parallel_for(side, grain, [&](int64_t begin, int64_t end) {
    Direct<S, S> part = all;
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

template <class S>
struct Widen {
  using T = SumOf<S>;
  T* dst;
  const S* src;
  int64_t rows, cols, ld;
  template <class I>
  [[gnu::always_inline]] void run() const {
    using V = Vec<T, I::bytes>;
    constexpr int lanes = I::bytes / static_cast<int>(sizeof(T));
    for (int64_t i = 0; i < rows; ++i) {
      int64_t j = 0;
      for (; j + lanes <= cols; j += lanes) {
        V v;
        load_as<S>(v, src + i * ld + j);
        store_to(dst + i * cols + j, v);
      }
      for (; j < cols; ++j) dst[i * cols + j] = static_cast<T>(src[i * ld + j]);
    }
  }
};

}  // namespace rille::cpu::small

namespace rille::cpu {

template <class S>
void gemm_small(const Product<S>& p) {
  using namespace small;
  using T = SumOf<S>;
  const Gemm& g = p.g;
  TileInput<T, T> in{};
  in.k = g.k;
  if constexpr (sizeof(S) == sizeof(T)) {
    in.a = reinterpret_cast<const T*>(p.a), in.a_row = p.a_row(), in.a_step = p.a_step();
  } else {
    const int64_t rows = p.turned_a() ? g.k : g.m, cols = p.turned_a() ? g.m : g.k;
    T* a = workspace<T>(Purpose::gemm_a, rows * cols);
    run_best(Widen<S>{a, p.a, rows, cols, g.lda});
    in.a = a, in.a_row = p.turned_a() ? 1 : cols, in.a_step = p.turned_a() ? cols : 1;
  }
  TileOutput<T, S> out{p.c, g.ldc, p.bias, scale_as<T, S>(g.alpha), scale_as<T, S>(g.beta)};
  if constexpr (sizeof(S) == sizeof(T))
    if (!p.turned_b())
      return shared_out(
          Direct<S, S>{{in.a, in.a_row, in.a_step, p.b, g.ldb, g.k}, out, g.m, g.n, false});
  const int64_t unit =
      with_isa([](auto isa) { return int64_t{TileShape<decltype(isa), T>::cols}; });
  T* b = workspace<T>(Purpose::gemm_b, (g.n + unit) * g.k);
  run_best(PackPanels<S>{b, {p.b, p.b_col(), p.b_step()}, g.n, g.k});
  in.b = b;
  run_best(Direct<S, T>{in, out, g.m, g.n, true});
}

}  // namespace rille::cpu
