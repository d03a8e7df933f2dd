// Reductions of one row that several kernels share: each is inlined into the clone that calls it.
#pragma once
#include <cstdint>
#include <limits>

namespace rille::cpu {

/// Lanes folded in halves: a chain of additions or comparisons would wait for each.
template <class A, int64_t n, class F>
[[gnu::always_inline]] inline A fold_lanes(A (&lane)[n], F f) {
#pragma GCC unroll 6
  for (int64_t half = n / 2; half > 0; half /= 2)
    for (int64_t j = 0; j < half; ++j) lane[j] = f(lane[j], lane[j + half]);
  return lane[0];
}

/// The largest of n values, -inf for none. A nan may be skipped: what follows meets it anyway.
template <class A>
inline A row_max(const A* x, int64_t n) {
  constexpr int64_t lanes = 64 / sizeof(A);
  constexpr A lowest = -std::numeric_limits<A>::infinity();
  const auto larger = [](A a, A b) { return b > a ? b : a; };
  A most[lanes];
  for (int64_t j = 0; j < lanes; ++j) most[j] = lowest;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
#pragma omp simd
    for (int64_t j = 0; j < lanes; ++j) most[j] = larger(most[j], x[i + j]);
  }
  A m = fold_lanes(most, larger);
  for (; i < n; ++i) m = larger(m, x[i]);
  return m;
}

/// A sum in the making, in lanes: additions need not wait for one another.
template <class A>
struct LaneSum {
  static constexpr int64_t lanes = 128 / sizeof(A);
  A lane[lanes] = {};

  [[gnu::always_inline]] A total() const {
    A sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < lanes; ++j) sum += lane[j];
    return sum;
  }
};

/// Calls add(i, lane) for each i of [begin, end), for sums in lanes.
template <class A, class Add>
[[gnu::always_inline]] inline void each_lane(int64_t begin, int64_t end, Add add) {
  constexpr int64_t lanes = LaneSum<A>::lanes;
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
#pragma omp simd
    for (int64_t j = 0; j < lanes; ++j) add(i + j, j);
  }
  for (int64_t j = 0; i + j < end; ++j) add(i + j, j);
}

}  // namespace rille::cpu
