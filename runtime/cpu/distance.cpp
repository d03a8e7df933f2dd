#include "cpu/distance.h"

#include <cmath>

#include "core/budget.h"
#include "core/macros.h"
#include "core/threads.h"
#include "cpu/row_access.h"
#include "cpu/vector_math.h"

namespace rille::cpu {
namespace {

template <class A>
RILLE_CLONES A squares(const A* x, const A* y, int64_t n) {
  A sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum);
}

template <class A>
RILLE_CLONES A absolutes(const A* x, const A* y, int64_t n) {
  A sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += math::fabs(x[i] - y[i]);
  return sum;
}

template <class A>
RILLE_CLONES A powers(const A* x, const A* y, int64_t n, A p) {
  A sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += math::pow(math::fabs(x[i] - y[i]), p);
  return std::pow(sum, 1 / p);
}

// nan is not lost, as a comparison would lose it.
template <class A>
A largest(const A* x, const A* y, int64_t n) {
  A most = 0;
  for (int64_t i = 0; i < n; ++i) {
    const A gap = math::fabs(x[i] - y[i]);
    if (!(gap <= most)) most = gap;
    if (std::isnan(most)) break;
  }
  return most;
}

template <class A>
A unequal(const A* x, const A* y, int64_t n) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) count += x[i] != y[i];
  return static_cast<A>(count);
}

template <class A>
A distance(const A* x, const A* y, int64_t n, double p) {
  if (p == 2) return squares(x, y, n);
  if (p == 1) return absolutes(x, y, n);
  if (p == 0) return unequal(x, y, n);
  if (std::isinf(p)) return largest(x, y, n);
  return powers(x, y, n, static_cast<A>(p));
}

}  // namespace

template <class A>
void pair_distances(const Pairs& s, const A* x1, const A* x2, A* y) {
  const int64_t each = s.rows_y * s.width;
  parallel_for(s.batch * s.rows_x, rows_per_chunk(each), [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t i = begin; i < end; ++i) {
      const A* others = x2 + i / s.rows_x * each;
      for (int64_t j = 0; j < s.rows_y; ++j, poll(s.width))
        y[i * s.rows_y + j] = distance(x1 + i * s.width, others + j * s.width, s.width, s.p);
    }
  });
}

template void pair_distances(const Pairs&, const float*, const float*, float*);
template void pair_distances(const Pairs&, const double*, const double*, double*);

}  // namespace rille::cpu
