// Reductions of one row that several kernels share: each is inlined into the clone that calls it.
#pragma once
#include <cstdint>
#include <limits>

namespace rille::cpu {

/// The largest of n values, -inf for none. A nan may be skipped: what follows meets it anyway.
template <class A>
inline A row_max(const A* x, int64_t n) {
  constexpr int64_t lanes = 64 / sizeof(A);
  constexpr A lowest = -std::numeric_limits<A>::infinity();
  A most[lanes];
  for (int64_t j = 0; j < lanes; ++j) most[j] = lowest;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
#pragma omp simd
    for (int64_t j = 0; j < lanes; ++j) most[j] = x[i + j] > most[j] ? x[i + j] : most[j];
  }
  A m = lowest;
  for (int64_t j = 0; j < lanes; ++j) m = most[j] > m ? most[j] : m;
  for (; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

}  // namespace rille::cpu
