// c[m, n] (+)= sum_p a[m, p] b[p, n], up to 2 x 2 tiles of c at a time: registers 0 to 3 hold them,
// 4 and 5 the tiles of a, 6 and 7 those of b, so that four loads feed four products. A product
// takes twice as long as a load; bound by the unit.
#include "cpu/tile_product.h"

#include <algorithm>

namespace rille::cpu {
namespace {

using Product = BlockProduct<Pair>;

int64_t bytes(int64_t cells) { return cells * static_cast<int64_t>(sizeof(Pair)); }

// Of the depth, in cells and whole tiles.
struct Range {
  int64_t begin, end;
};

// What rows [r, r + rows) need.
Range depth_of(const Product& x, int64_t r, int64_t rows) {
  int64_t begin = 0, end = x.k;
  if (x.trim == Trim::depth_begin) begin = std::clamp<int64_t>(r - x.diagonal, 0, x.k);
  if (x.trim == Trim::depth_end) end = std::clamp<int64_t>(r + rows + x.diagonal, 0, x.k);
  return {begin / kTileDepth * kTileCells, (end + kTileDepth - 1) / kTileDepth * kTileCells};
}

template <int kTile>
[[gnu::always_inline]] inline void begin_sum(const Product& x, const float* c) {
  if (x.add)
    load_tile<kTile>(c, bytes(x.c_row));
  else
    zero_tile<kTile>();
}

// kRows x kCols tiles of c, from row r and column n on.
template <int kRows, int kCols>
[[gnu::always_inline]] inline void block(const Product& x, int64_t r, int64_t n) {
  const int64_t a_row = bytes(x.a_row), b_row = bytes(x.b_row), c_row = bytes(x.c_row);
  float *top = x.c + r * x.c_row + n, *low = top + kTileRows * x.c_row;
  begin_sum<0>(x, top);
  if constexpr (kCols > 1) begin_sum<1>(x, top + kTileCells);
  if constexpr (kRows > 1) begin_sum<2>(x, low);
  if constexpr (kRows > 1 && kCols > 1) begin_sum<3>(x, low + kTileCells);
  const Range depth = depth_of(x, r, kRows * kTileRows);
  for (int64_t p = depth.begin; p < depth.end; p += kTileCells) {
    const Pair *a = x.a + r * x.a_row + p, *b = x.b + p * x.b_row + n;
    load_tile<4>(a, a_row);
    load_tile<6>(b, b_row);
    multiply_tiles<0, 4, 6>();
    if constexpr (kCols > 1) {
      load_tile<7>(b + kTileCells, b_row);
      multiply_tiles<1, 4, 7>();
    }
    if constexpr (kRows > 1) {
      load_tile<5>(a + kTileRows * x.a_row, a_row);
      multiply_tiles<2, 5, 6>();
    }
    if constexpr (kRows > 1 && kCols > 1) multiply_tiles<3, 5, 7>();
  }
  store_tile<0>(top, c_row);
  if constexpr (kCols > 1) store_tile<1>(top + kTileCells, c_row);
  if constexpr (kRows > 1) store_tile<2>(low, c_row);
  if constexpr (kRows > 1 && kCols > 1) store_tile<3>(low + kTileCells, c_row);
}

template <int kRows>
void row_of_blocks(const Product& x, int64_t r) {
  const int64_t last = r + kRows * kTileRows - 1 + x.diagonal;  // column that these rows may meet
  const int64_t wanted = x.trim == Trim::columns ? std::min(x.n, last + 1) : x.n;
  int64_t n = 0;
  for (; n + kTileCells < wanted; n += 2 * kTileCells) block<kRows, 2>(x, r, n);
  if (n < wanted) block<kRows, 1>(x, r, n);
}

}  // namespace

void multiply_whole_tiles(const Product& x) {
  int64_t r = 0;
  for (; r + 2 * kTileRows <= x.m; r += 2 * kTileRows) row_of_blocks<2>(x, r);
  if (r < x.m) row_of_blocks<1>(x, r);
}

}  // namespace rille::cpu
