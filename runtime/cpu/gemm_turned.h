// Products of few rows by a B that lies transposed, as x w' of a small batch is: packing B would
// cost as much as some rows' sums. So C' = B' A' is computed, whose left side is read where it
// lies, and turned into C, a strip of columns after the other. The sums are the same, in the same
// order.
#pragma once
#include "cpu/gemm_block.h"

namespace rille::cpu::turned {

constexpr int64_t kStrip = 1024;  // columns of C, whose sums stay in the near caches
constexpr int64_t kLine = 16;     // columns turned together: a line of the caches or two

/// c = alpha * sum + beta * c + bias for a strip of C; `sums` has a row for each of its columns.
template <class T>
struct Turned {
  T* c;
  int64_t ldc;
  const T* sums;
  int64_t ld, rows, cols;
  const T* bias;
  T alpha, beta;

  template <class I>
  [[gnu::always_inline]] void run() const {
    // Lines of C are written whole, one after the other: they may lie where they evict each other.
    for (int64_t from = 0; from < cols; from += kLine) {
      const int64_t to = std::min(from + kLine, cols);
      int64_t i = 0;
      for (; i + 4 <= rows; i += 4) {
        int64_t j = from;
        for (; j + 4 <= to; j += 4) square(i, j);
        for (; j < to; ++j)
          for (int64_t q = i; q < i + 4; ++q) one(q, j);
      }
      for (; i < rows; ++i)
        for (int64_t j = from; j < to; ++j) one(i, j);
    }
  }

 private:
  [[gnu::always_inline]] void square(int64_t i, int64_t j) const {
    using V = Vec<T, 4 * sizeof(T)>;
    V lines[4], add;
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) load_as<T>(lines[q], sums + (j + q) * ld + i);
    transpose4(lines);
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      T* to = c + (i + q) * ldc + j;
      lines[q] *= alpha;
      if (beta != T(0)) {
        load_as<T>(add, to);
        lines[q] += beta * add;
      }
      if (bias) {
        load_as<T>(add, bias + j);
        lines[q] += add;
      }
      store_to(to, lines[q]);
    }
  }

  [[gnu::always_inline]] void one(int64_t i, int64_t j) const {
    T* to = c + i * ldc + j;
    T sum = alpha * sums[j * ld + i];
    if (beta != T(0)) sum += beta * *to;
    if (bias) sum += bias[j];
    *to = sum;
  }
};

}  // namespace rille::cpu::turned

namespace rille::cpu {

template <class T>
void gemm_turned(const Product<T>& p) {
  using namespace turned;
  const Gemm& g = p.g;
  T* sums = workspace<T>(Purpose::gemm_c, std::min(g.n, kStrip) * g.m);
  for (int64_t j = 0; j < g.n; j += kStrip) {
    const int64_t cols = std::min(kStrip, g.n - j);
    Gemm across = dense(cols, g.m, g.k, Transpose::no, Transpose::yes);
    across.lda = g.ldb, across.ldb = g.lda;
    gemm_of_cells<T, T>(Product<T>{across, p.b + j * g.ldb, p.a, sums, nullptr});
    parallel_for(cols, std::max<int64_t>(16, (1 << 16) / g.m), [&](int64_t begin, int64_t end) {
      run_best(Turned<T>{p.c + j + begin, g.ldc, sums + begin * g.m, g.m, g.m, end - begin,
                         p.bias ? p.bias + j + begin : nullptr, scale_as<T>(g.alpha),
                         scale_as<T>(g.beta)});
    });
  }
}

}  // namespace rille::cpu
