// Products of 16-bit floats, summed in f32 by the kernels of gemm_float.cpp and rounded once; large
// ones of bf16 by pairs, where the processor multiplies them.
#include "cpu/gemm_block.h"
#include "cpu/gemv.h"

namespace rille::cpu {

extern template void block::run_pass(const Pass<float>&);
extern template void gemm_small(const Product<float>&);

namespace {

template <class S>
struct Widen {
  float* dst;
  const S* src;
  int64_t rows, cols, ld;

  template <class I>
  [[gnu::always_inline]] void run() const {
    using V = Vec<float, I::bytes>;
    constexpr int lanes = I::bytes / 4;
    for (int64_t i = 0; i < rows; ++i) {
      int64_t j = 0;
      for (; j + lanes <= cols; j += lanes) {
        V v;
        load_as<S>(v, src + i * ld + j);
        store_to(dst + i * cols + j, v);
      }
      for (; j < cols; ++j) dst[i * cols + j] = src[i * ld + j];
    }
  }
};

/// The stored matrix of rows x cols as contiguous f32.
template <class S>
const float* widened(Purpose purpose, const S* src, int64_t rows, int64_t cols, int64_t ld) {
  float* dst = workspace<float>(purpose, rows * cols);
  run_best(Widen<S>{dst, src, rows, cols, ld});
  return dst;
}

}  // namespace

template <class S>
void gemm_small(const Product<S>& p) {
  const Gemm& g = p.g;
  Product<float> wide{dense(g.m, g.n, g.k, g.ta, g.tb), nullptr, nullptr, nullptr, nullptr};
  wide.a = widened(Purpose::narrow_a, p.a, p.turned_a() ? g.k : g.m, wide.g.lda, g.lda);
  wide.b = widened(Purpose::narrow_b, p.b, p.turned_b() ? g.n : g.k, wide.g.ldb, g.ldb);
  wide.c = workspace<float>(Purpose::gemm_c, g.m * g.n);
  gemm_small(wide);
  round_sums(p, 0, g.m, 0, g.n, wide.c, g.n);
}

template void block::run_pass(const Pass<Pair>&);
template void gemm_blocked(const Product<bf16>&);
template void gemm_small(const Product<bf16>&);
template void gemv(const Product<bf16>&);
template void gemm_blocked(const Product<f16>&);
template void gemm_small(const Product<f16>&);
template void gemv(const Product<f16>&);

}  // namespace rille::cpu
