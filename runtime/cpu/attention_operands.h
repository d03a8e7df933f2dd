// A head's tensors as operands of block products (cpu/block_product.h), made of cells: f32 or f64
// numbers, or pairs of bf16 where the processor multiplies those. Left operands are read row by
// row, their pairs lie along the row; of right operands a row holds one step of the depth, so that
// their pairs are two rows, or two columns, shuffled together. For attention*.cpp only.
#pragma once
#include "cpu/attention_blocks.h"
#include "cpu/row_access.h"
#include "cpu/tiles.h"

namespace rille::cpu {

/// Calls f.operator()<Cell>() with what operands of a floating dtype are made of.
template <class F>
void with_cells(DType d, F&& f) {
  if (d == DType::bf16 && has_pair_products()) return f.template operator()<Pair>();
  with_accumulator(d, f);
}

/// Numbers are scaled when they are packed; pairs are what they were, and their products are
/// scaled.
/// The factor of the first, and the one of the second.
template <class Cell>
inline SumOfCells<Cell> packing_scale(double scale) {
  return kPairs<Cell> ? 1 : static_cast<SumOfCells<Cell>>(scale);
}
template <class Cell>
inline SumOfCells<Cell> product_scale(double scale) {
  return kPairs<Cell> ? static_cast<SumOfCells<Cell>>(scale) : 1;
}

/// to[t, pairs_of(width)]: the numbers of a row, two to a pair, zero behind an odd width.
void pack_left(const Heads& from, Place at, int64_t time, int64_t width, Pair* to);
/// to[pairs_of(time), padded(width)]: two rows, number by number, zeros behind both.
void pack_right(const Heads& from, Place at, int64_t time, int64_t width, Pair* to);
/// For each block of 64 rows to[pairs_of(width), 64], zeros behind the last row.
void pack_columns(const Heads& from, Place at, int64_t time, int64_t width, Pair* to);

/// block[rows, 64] of f32 rounded to to[rows, 32].
void round_left(const float* block, int64_t rows, Pair* to);
/// block[rows, 64] rounded to to[pairs_of(rows), 64], rows in pairs: the left operand block'.
void round_turned(const float* block, int64_t rows, Pair* to);
/// to[64, 64] = the transpose of from[rows <= 64, 64]: along the rows, as tiles want it.
void transpose_pairs(const Pair* from, int64_t rows, Pair* to);

/// The rows of one head on the left or right side of products.
template <class Cell>
class Rows {
 public:
  using A = SumOfCells<Cell>;

  Rows(int64_t time, int64_t width, bool left, bool right)
      : width_(width),
        left_row_(kPairs<Cell> ? pairs_of(width) : padded<A>(width)),
        right_row_(padded<A>(width)),
        left_(left || !kPairs<Cell> ? time * left_row_ : 0),
        right_(right && kPairs<Cell> ? pairs_of(time) * right_row_ : 0) {}

  /// The first `time` rows.
  void load(DType d, const Heads& from, Place at, int64_t time, A scale = 1) {
    if constexpr (kPairs<Cell>) {
      if (left_.data()) pack_left(from, at, time, width_, left_.data());
      if (right_.data()) pack_right(from, at, time, width_, right_.data());
    } else {
      pack_rows(d, from, at, time, width_, scale, left_.data());
    }
  }

  int64_t left_row() const { return left_row_; }
  int64_t right_row() const { return right_row_; }
  /// From row t on, on the right side a multiple of the numbers of a cell.
  const Cell* left(int64_t t) const { return left_.data() + t * left_row_; }
  const Cell* right(int64_t t) const {
    if constexpr (kPairs<Cell>) return right_.data() + t / 2 * right_row_;
    return left(t);
  }

 private:
  int64_t width_, left_row_, right_row_;
  Scratch<Cell> left_, right_;
};

/// The rows of one head as columns, a block of 64 after the other: right operands whose depth is
/// the width.
template <class Cell>
class Columns {
 public:
  Columns(int64_t time, int64_t width)
      : time_(time),
        width_(width),
        block_((kPairs<Cell> ? pairs_of(width) : width) * kBlock),
        cells_(blocks_of(time) * block_) {}

  void load(DType d, const Heads& from, Place at) {
    if constexpr (kPairs<Cell>)
      pack_columns(from, at, time_, width_, cells_.data());
    else
      pack_columns(d, from, at, time_, width_, cells_.data());
  }
  const Cell* block(int64_t b) const { return cells_.data() + b * block_; }

 private:
  int64_t time_, width_, block_;
  Scratch<Cell> cells_;
};

/// A left operand: cells and the strides of its rows and columns.
template <class Cell>
struct Left {
  const Cell* cells;
  int64_t row, col;
};

/// A block of results, [64, 64], as the left operand of the next product.
template <class Cell>
class LeftBlock {
 public:
  using A = SumOfCells<Cell>;

  LeftBlock()
      : cells_(kPairs<Cell> ? kBlock * kBlock / 2 : 0),
        along_(kPairs<Cell> && has_tiles() ? kBlock * kBlock : 0) {}
  /// block, [rows, depth].
  Left<Cell> straight(const A* block, int64_t rows) {
    if constexpr (kPairs<Cell>) {
      round_left(block, rows, cells_.data());
      return {cells_.data(), kBlock / 2, 1};
    } else {
      return {block, kBlock, 1};
    }
  }
  /// block' of block[depth, 64].
  Left<Cell> turned(const A* block, int64_t depth) {
    if constexpr (kPairs<Cell>) {
      round_turned(block, depth, cells_.data());
      if (!along_.data()) return {cells_.data(), 1, kBlock};
      transpose_pairs(cells_.data(), pairs_of(depth), along_.data());
      return {along_.data(), kBlock, 1};
    } else {
      return {block, 1, kBlock};
    }
  }

 private:
  Scratch<Cell> cells_, along_;
};

}  // namespace rille::cpu
