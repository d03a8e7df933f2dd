// The last step of products of 16-bit floats: sums in f32 become elements of C, rounded once.
#pragma once
#include "cpu/gemm_kernels.h"
#include "cpu/gemm_tile.h"

namespace rille::cpu {

/// c = alpha * sum + beta * c + bias for a piece of C.
template <class S>
struct RoundSums {
  S* c;
  int64_t ldc;
  const float* sums;
  int64_t ld, rows, cols;
  const S* bias;
  float alpha, beta;

  template <class I>
  [[gnu::always_inline]] void run() const {
    constexpr int lanes = I::bytes / 4;
    for (int64_t i = 0; i < rows; ++i) {
      int64_t j = 0;
      for (; j + lanes <= cols; j += lanes) some<I::bytes>(i, j);
      for (; j < cols; ++j) some<4>(i, j);
    }
  }

 private:
  template <int Bytes>
  [[gnu::always_inline]] void some(int64_t i, int64_t j) const {
    using V = Vec<float, Bytes>;
    V sum, add;
    load_as<float>(sum, sums + i * ld + j);
    S* to = c + i * ldc + j;
    sum *= alpha;
    if (beta != 0) {
      load_as<S>(add, to);
      sum += beta * add;
    }
    if (bias) {
      load_as<S>(add, bias + j);
      sum += add;
    }
    if constexpr (Bytes == 4)
      *to = S(sum);
    else
      store_rounded<S>(to, sum);
  }
};

/// Rows [i, i + rows) and columns [j, j + cols) of the product's C.
template <class S>
void round_sums(const Product<S>& p, int64_t i, int64_t rows, int64_t j, int64_t cols,
                const float* sums, int64_t ld) {
  run_best(RoundSums<S>{p.c + i * p.g.ldc + j, p.g.ldc, sums, ld, rows, cols,
                        p.bias ? p.bias + j : nullptr, scale_as<float>(p.g.alpha),
                        scale_as<float>(p.g.beta)});
}

}  // namespace rille::cpu
