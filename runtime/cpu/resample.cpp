#include "cpu/resample.h"

#include <algorithm>

#include "core/budget.h"
#include "core/macros.h"
#include "core/threads.h"

namespace rille::cpu {
namespace {

constexpr int64_t kChunkWork = 1 << 15;  // elements worth a chunk of their own

// y += w * x
template <class T>
RILLE_CLONES void add_scaled(T* y, const T* x, T w, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += w * x[i];
}

// One plane of lines: from and to are [positions, inner]. `forward` reads at the taps, else writes.
template <class T, bool forward>
void lines(const Taps& taps, int64_t inner, const T* from, T* to) {
  Poll poll;
  for (int64_t p = 0; p < taps.size(); ++p) {
    const auto q = static_cast<size_t>(p);
    for (auto t = static_cast<size_t>(taps.first[q]); t < static_cast<size_t>(taps.first[q + 1]);
         ++t) {
      const int64_t read = forward ? taps.at[t] : p, write = forward ? p : taps.at[t];
      add_scaled(to + write * inner, from + read * inner, static_cast<T>(taps.weight[t]), inner);
      poll(inner);
    }
  }
}

// The same where a line is one element: sums stay in a register.
template <class T, bool forward>
void points(const Taps& taps, const T* from, T* to) {
  const int64_t* at = taps.at.data();
  const double* weight = taps.weight.data();
  Poll poll;
  for (int64_t p = 0; p < taps.size(); ++p) {
    const int64_t first = taps.first[static_cast<size_t>(p)],
                  last = taps.first[static_cast<size_t>(p) + 1];
    if constexpr (forward) {
      T sum = 0;
      for (int64_t t = first; t < last; ++t) sum += static_cast<T>(weight[t]) * from[at[t]];
      to[p] = sum;
    } else {
      for (int64_t t = first; t < last; ++t) to[at[t]] += static_cast<T>(weight[t]) * from[p];
    }
    poll(last - first + 1);
  }
}

template <class T, bool forward>
void run(const Taps& taps, int64_t outer, int64_t in, int64_t inner, const T* x, T* y) {
  const int64_t from = forward ? in : taps.size(), to = forward ? taps.size() : in;
  const int64_t work = std::max<int64_t>(1, static_cast<int64_t>(taps.at.size()) * inner);
  parallel_for(outer, std::max<int64_t>(1, kChunkWork / work), [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const T* a = x + o * from * inner;
      T* b = y + o * to * inner;
      polled(to * inner, [&](int64_t i, int64_t behind) { std::fill(b + i, b + behind, T(0)); });
      if (inner == 1)
        points<T, forward>(taps, a, b);
      else
        lines<T, forward>(taps, inner, a, b);
    }
  });
}

}  // namespace

void resample(DType dtype, const Taps& taps, int64_t outer, int64_t in, int64_t inner,
              const void* x, void* y) {
  if (dtype == DType::f64)
    run<double, true>(taps, outer, in, inner, static_cast<const double*>(x),
                      static_cast<double*>(y));
  else
    run<float, true>(taps, outer, in, inner, static_cast<const float*>(x), static_cast<float*>(y));
}

void resample_backward(DType dtype, const Taps& taps, int64_t outer, int64_t in, int64_t inner,
                       const void* dy, void* dx) {
  if (dtype == DType::f64)
    run<double, false>(taps, outer, in, inner, static_cast<const double*>(dy),
                       static_cast<double*>(dx));
  else
    run<float, false>(taps, outer, in, inner, static_cast<const float*>(dy),
                      static_cast<float*>(dx));
}

}  // namespace rille::cpu
