// What attention's forward and backward share: blocks, masks, dropout factors and the way of packed
// operands in and out. For attention*.cpp only.
#pragma once
#include <algorithm>
#include <cstdint>

#include "cpu/attention.h"
#include "cpu/block_product.h"
#include "cpu/row_access.h"
#include "cpu/scratch.h"

namespace rille::cpu {

inline constexpr int64_t kBlock = 64;  // queries and keys of a block

inline int64_t blocks_of(int64_t n) { return (n + kBlock - 1) / kBlock; }
/// Columns of a packed operand: whole vectors.
template <class A>
inline int64_t padded(int64_t n) {
  constexpr int64_t lanes = 64 / sizeof(A);
  return (n + lanes - 1) / lanes * lanes;
}

/// Under a causal mask blocks differ in cost. First, last, second, last but one ...: in this order
/// equal shares of the list are about equal work.
inline int64_t balanced(int64_t i, int64_t n) { return i % 2 == 0 ? i / 2 : n - 1 - i / 2; }

/// The part of one head that a block covers. Row i may look at columns 0 .. i + diagonal.
struct BlockPair {
  int64_t query, rows, key, cols, diagonal, reach = trim_reach();

  BlockPair(const Attention& x, int64_t qb, int64_t kb)
      : query(qb * kBlock),
        rows(std::min(kBlock, x.queries - query)),
        key(kb * kBlock),
        cols(std::min(kBlock, x.keys - key)),
        diagonal(x.causal ? query - key : cols) {}
  bool empty() const { return diagonal + rows <= 0; }
  bool cut() const { return diagonal < cols - 1; }
  int64_t limit(int64_t row) const { return std::clamp<int64_t>(row + diagonal + 1, 0, cols); }
  /// Where the zeros behind a row's first n columns end: where they may meet a product. A trimmed
  /// one reads so far beyond them; a pair may begin in the last column.
  int64_t zeros_end(int64_t n) const { return std::min(kBlock, (cut() ? n : cols) + reach); }
};

/// Which head of which batch.
struct Place {
  int64_t batch, head;
};

/// Packed copies of one head's operands, as accumulator values.
/// Rows: to[t, padded(width)] = scale * from[t, width], zeros behind.
template <class A>
void pack_rows(DType d, const Heads& from, Place at, int64_t time, int64_t width, A scale, A* to);
/// Columns: for each block of 64 rows, to[width, 64], zeros behind the last row.
template <class A>
void pack_columns(DType d, const Heads& from, Place at, int64_t time, int64_t width, A* to);
/// to[width, 64] = the transpose of from[rows <= 64, width], whose rows are `row` apart.
void transpose(const float* from, int64_t row, int64_t rows, int64_t width, float* to);
void transpose(const double* from, int64_t row, int64_t rows, int64_t width, double* to);
/// The way back of rows [begin, end): to[t, width] = scale * from[t - begin, padded(width)].
template <class A>
void unpack_rows(const A* from, A scale, int64_t begin, int64_t end, int64_t width, DType d,
                 const HeadsOut& to, Place at);

/// to[t] = the sum over the width of x[t] * y[t].
template <class A>
void multiply_rows(DType d, const Heads& x, const Heads& y, Place at, int64_t time, int64_t width,
                   A* to);

/// Where a head begins.
inline int64_t start_of(int64_t batch_stride, int64_t head_stride, Place at) {
  return at.batch * batch_stride + at.head * head_stride;
}

/// The mask of one block as numbers to add, to[64, 64]; -inf where a query may not look.
template <class A>
void load_mask(const Attention& x, Place at, const BlockPair& span, A* to);
/// The dropout factors of one block, to[64, 64]: 0 or 1 / (1 - p).
template <class A>
void load_factors(const Attention& x, Place at, const BlockPair& span, A* to);

}  // namespace rille::cpu
