// The register tile of every matrix product: acc[R][N] += column of A * row of B, N vectors wide,
// one fixed order over k. A is read through two strides (packed or in place), B row by row.
// Bound: R * N fused multiply-adds a step against R + N loads. Used by gemm_block and gemm_small.
#pragma once
#include <algorithm>

#include "cpu/cells.h"
#include "cpu/isa.h"
#include "cpu/vec.h"

namespace rille::cpu {

/// Tile shape: R * N accumulators, N vectors of B and a broadcast must fit the register file.
template <class I, class T>
struct TileShape {
  static constexpr int lanes = I::bytes / static_cast<int>(sizeof(T));
  static constexpr int vectors = 2;
  static constexpr int rows = std::is_integral_v<T> || I::bytes == 16 ? 4  // multiply is slow there
                              : I::registers == 32                    ? 12
                                                                      : 6;
  static constexpr int cols = vectors * lanes;
};

/// Heights of the tiles that cut `left` rows: full ones, then 8, 4, 2, 1. Packing and products
/// follow the same cut, so a panel of height h at row i starts at i * k whatever came before it.
template <int R>
[[gnu::always_inline]] inline int tile_height(int64_t left) {
  if (left >= R) return R;
  if (R > 8 && left >= 8) return 8;
  return left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/// alpha or beta as T; a fraction means nothing to integers and is cut off.
template <class T>
[[gnu::always_inline]] inline T scale_as(double x) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<int64_t>(x));
  else
    return static_cast<T>(x);
}

/// Steps of the depth are cells, and so are the strides.
template <class Cell>
struct TileInput {
  const Cell* a;
  int64_t a_row, a_step;
  const Cell* b;
  int64_t b_step, k;
};

/// Where sums go: c = alpha * sum + beta * c + bias.
template <class T>
struct TileOutput {
  T* c;
  int64_t ldc;
  const T* bias;  // one a column, or null
  T alpha, beta;
};

template <class Cell, class V, int R, int N>
[[gnu::always_inline]] inline void multiply(V (&acc)[R][N], const TileInput<Cell>& in) {
  constexpr int lanes = sizeof(V) / sizeof(SumOfCells<Cell>);
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) acc[i][v] = V{};
  const Cell* a = in.a;
  const Cell* b = in.b;
  for (int64_t p = 0; p < in.k; ++p, a += in.a_step, b += in.b_step) {
    V row[N];
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) __builtin_memcpy(&row[v], b + v * lanes, sizeof(V));
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      Repeated<Cell, V> x;
      repeat<Cell, V>(x, a + i * in.a_row);
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) add_product<Cell>(acc[i][v], x, row[v]);
    }
  }
}

template <class T, class V, int R, int N>
[[gnu::always_inline]] inline void store_whole(V (&acc)[R][N], const TileOutput<T>& out) {
  constexpr int lanes = sizeof(V) / sizeof(T);
  V old;
  if (out.beta != T(0))
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) {
        load_as<T>(old, out.c + i * out.ldc + v * lanes);
        acc[i][v] += out.beta * old;
      }
  if (out.bias)
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      load_as<T>(old, out.bias + v * lanes);
#pragma GCC unroll 16
      for (int i = 0; i < R; ++i) acc[i][v] += old;
    }
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) store_to(out.c + i * out.ldc + v * lanes, acc[i][v]);
}

/// Stores columns [skip, width) of the tile, each by the same operations whatever part it is of.
template <class T, class V, int R, int N>
[[gnu::always_inline]] inline void store_tile(V (&acc)[R][N], const TileOutput<T>& out, int skip,
                                              int width) {
  constexpr int lanes = sizeof(V) / sizeof(T);
  if (out.alpha != T(1))
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) acc[i][v] *= out.alpha;
  if (skip == 0 && width == N * lanes) return store_whole(acc, out);
  T sums[R][N * lanes];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) store_to(sums[i] + v * lanes, acc[i][v]);
  for (int i = 0; i < R; ++i)
    for (int j = skip; j < width; ++j) {
      T& c = out.c[i * out.ldc + j];
      T sum = sums[i][j];
      if (out.beta != 0) sum += out.beta * c;
      if (out.bias) sum += out.bias[j];
      c = sum;
    }
}

template <class Cell, int Bytes, int R, int N>
[[gnu::always_inline]] inline void tile(const TileInput<Cell>& in,
                                        const TileOutput<SumOfCells<Cell>>& out, int skip,
                                        int width) {
  Vec<SumOfCells<Cell>, Bytes> acc[R][N];
  multiply(acc, in);
  store_tile(acc, out, skip, width);
}

/// A column of tiles of height R, 8, 4, 2, 1 over `rows` rows. Packed: A lies in panels as
/// packing lays them out; otherwise in place, through in.a_row and in.a_step.
template <class Cell, int Bytes, int R, int N, bool Packed>
[[gnu::always_inline]] inline void tile_column(TileInput<Cell> in, TileOutput<SumOfCells<Cell>> out,
                                               int64_t rows, int skip, int width) {
  const Cell* a = in.a;
  auto* c = out.c;
  for (int64_t i = 0; i < rows;) {
    const int height = tile_height<R>(rows - i);
    in.a = a + i * (Packed ? in.k : in.a_row);
    if (Packed) in.a_row = 1, in.a_step = height;
    out.c = c + i * out.ldc;
    if (height == R)
      tile<Cell, Bytes, R, N>(in, out, skip, width);
    else if (R > 8 && height == 8)
      tile<Cell, Bytes, std::min(R, 8), N>(in, out, skip, width);
    else if (height == 4)
      tile<Cell, Bytes, 4, N>(in, out, skip, width);
    else if (height == 2)
      tile<Cell, Bytes, 2, N>(in, out, skip, width);
    else
      tile<Cell, Bytes, 1, N>(in, out, skip, width);
    i += height;
  }
}

}  // namespace rille::cpu
