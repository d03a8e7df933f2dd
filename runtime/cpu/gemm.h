// Matrix products on raw row-major memory: C = alpha * op(A) op(B) + beta * C + bias, one or a
// batch of them. Sums are kept in f32 for bf16 and f16, in their own type otherwise, and rounded
// once. Every element of C is summed in an order that depends on the sizes only, so the bits are
// the same on any number of threads (with oneDNN: see dnn.h). 0 * inf is nan; beta == 0 never reads
// C. Called by the matmul, linear, conv and attention ops, which have checked shapes and strides.
#pragma once
#include <cstdint>

#include "core/dtype.h"

namespace rille::cpu {

enum class Transpose : bool { no, yes };

/// op(A) is m x k, op(B) is k x n, C is m x n. A leading dimension is the distance between stored
/// rows; a batch stride of 0 uses the same matrix for every product of the batch (not for C).
struct Gemm {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  Transpose ta = Transpose::no, tb = Transpose::no;
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;
  double alpha = 1, beta = 0;
};

/// One product of contiguous matrices.
inline Gemm dense(int64_t m, int64_t n, int64_t k, Transpose ta = Transpose::no,
                  Transpose tb = Transpose::no) {
  return {.m = m,
          .n = n,
          .k = k,
          .ta = ta,
          .tb = tb,
          .lda = ta == Transpose::yes ? m : k,
          .ldb = tb == Transpose::yes ? k : n,
          .ldc = n};
}

/// Any dtype but boolean; integers wrap. `bias` is a row of n, added to every row of C.
/// C overlaps neither A, B nor bias.
void gemm(DType dtype, const Gemm& g, const void* a, const void* b, void* c,
          const void* bias = nullptr);

/// The same without oneDNN: what serves where it is absent; tests and benchmarks compare the two.
void gemm_builtin(DType dtype, const Gemm& g, const void* a, const void* b, void* c,
                  const void* bias = nullptr);

}  // namespace rille::cpu
