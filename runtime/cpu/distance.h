// Distances between all pairs of rows. Called by ops/distance.
#pragma once
#include <cstdint>

namespace rille::cpu {

struct Pairs {
  int64_t batch, rows_x, rows_y, width;  // x is [batch, rows_x, width]
  double p;                              // of the norm: 0 counts, inf takes the largest
};

/// y[b, i, j] = (sum_k |x1[b, i, k] - x2[b, j, k]|^p)^(1 / p), without anything of the size of all
/// differences.
template <class A>
void pair_distances(const Pairs& pairs, const A* x1, const A* x2, A* y);

}  // namespace rille::cpu
