// Products of blocks that lie in the cache: c (+)= a b, for attention. Not for large matrices: no
// packing, no blocking of the depth. Compiled for each instruction set (cpu/isa.h).
#pragma once
#include <cstdint>

#include "cpu/cells.h"

namespace rille::cpu {

/// What a causal mask allows to leave out. A row r of the block meets column r + diagonal last.
enum class Trim : uint8_t {
  none,
  columns,     // c[r, n] is wanted for n <= r + diagonal only (others may be written, or not)
  depth_end,   // a[r, p] is 0 for p > r + diagonal
  depth_begin  // a[r, p] is 0 for p < r - diagonal
};

/// Depth trims may read this many places beyond the zeros that they could leave out: rows are taken
/// together, and with tiles steps of the depth, too.
int64_t trim_reach();

/// Strides count cells; m, n and k count numbers, and so does `diagonal`.
template <class Cell>
struct BlockProduct {
  int64_t m, n, k;  // n is rounded up to whole vectors of 64 bytes: b and c must have the room
  const Cell* a;
  int64_t a_row, a_col;  // one of them is 1
  const Cell* b;
  int64_t b_row;
  SumOfCells<Cell>* c;
  int64_t c_row;
  bool add = false;
  Trim trim = Trim::none;
  int64_t diagonal = 0;
};

void multiply(const BlockProduct<float>& product);
void multiply(const BlockProduct<double>& product);
/// Only where has_pair_products(), and inside a TileScope (cpu/tiles.h). Tiles take left operands
/// whose depth lies along the rows: a_col is 1.
void multiply(const BlockProduct<Pair>& product);

/// This processor multiplies pairs of bf16.
bool has_pair_products();

}  // namespace rille::cpu
